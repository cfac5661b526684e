"""Which lines of a log tell of an error."""

from __future__ import annotations

import re

# As the servers we start write it: log4j, C and Erlang programs; Java's and Go's last words.
_AN_ERROR = re.compile(
    r"\b(ERROR|FATAL|PANIC|Caused by|Exception in thread|[Ff]atal error)\b|^panic: |^[\w.$]+(Exception|Error): "
    r"|\[(ERR|FTL|error)\]|# Failed |OutOfMemoryError"
)


def is_error(line: str) -> bool:
    return _AN_ERROR.search(line) is not None


def last_words(text: str, lines: int) -> list[str]:
    """The last lines that say something. Errors come first: a server that ends in order says why long before its last line."""
    said = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in said if is_error(line)][-(lines - 1) :]
    return list(dict.fromkeys([*errors, *said[len(errors) - lines :]]))
