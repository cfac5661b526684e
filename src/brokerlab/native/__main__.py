"""`python -m brokerlab.native`: build the C library now and say what came of it."""

import sys

from brokerlab.native import library, why_not

if library() is not None:
    sys.stderr.write("the C library is ready\n")
else:
    sys.stderr.write(f"no C library: {why_not()}\nbrokerlab works without it, but more slowly\n")
