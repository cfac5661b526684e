"""The command line: one file per command under commands/, each of which parses, calls and prints."""
