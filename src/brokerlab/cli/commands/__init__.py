"""One module per command; each offers `command`. Imported only when its command is used."""
