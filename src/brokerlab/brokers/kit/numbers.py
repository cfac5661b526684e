"""Numbers that we gave out and servers give back, as text."""

from __future__ import annotations

MOST_DIGITS = 18  # what has no more fits into 64 bits


def number_in_text(text: bytes) -> int:
    """A whole number that is not negative. Raises OSError where it is none, or one that was never given out."""
    if not text.isdigit() or len(text) > MOST_DIGITS:
        raise OSError("unreadable answer: not a number that was given out")
    return int(text)
