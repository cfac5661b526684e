"""Errors that say what is as good as success."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

Refusal = TypeVar("Refusal", bound=Exception)


@contextlib.contextmanager
def fine_if(kind: type[Refusal], is_fine: Callable[[Refusal], bool]) -> Iterator[None]:
    """Swallows an error of this kind where it says so: that something to be deleted does not exist, for example."""
    try:
        yield
    except kind as e:
        if not is_fine(e):
            raise
