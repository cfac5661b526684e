"""Long lists of names, as text; names that every server takes; and those of a cell's partitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

Name = TypeVar("Name")


def names(text: str) -> frozenset[str]:
    """The words of the text."""
    return frozenset(text.split())


def plain_name(text: str) -> str:
    """Letters, digits, hyphens and underscores are kept; anything else becomes an underscore."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)


def of_partitions(name: Callable[[str, int], Name], destinations: Sequence[str], partitions: int) -> list[Name]:
    """What `name` says of a destination and a partition of it, by the cell's partition numbers."""
    return [name(destination, partition) for destination in destinations for partition in range(partitions)]


def belongs(name: str, destination: str, mark: str = ".") -> bool:
    """Whether this is the destination's name, the mark and a number: a part of it."""
    before, _, number = name.rpartition(mark)
    return before == destination and number.isdecimal()
