"""Long lists of names, as text; and names that every server takes."""

from __future__ import annotations

import re


def names(text: str) -> frozenset[str]:
    """The words of the text."""
    return frozenset(text.split())


def plain_name(text: str) -> str:
    """Letters, digits, hyphens and underscores are kept; anything else becomes an underscore."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)
