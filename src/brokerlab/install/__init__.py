"""Getting servers without root: wheels, Maven locks, relocated Debian packages, programs on PATH; and Java. Knows no broker."""
