"""A directory held by descriptor: it stays the same one when it is renamed.

So a writer that outlives its runner never writes into the evidence of the next attempt.
"""

from __future__ import annotations

import os
from pathlib import Path


def hold(directory: Path) -> int:
    """A descriptor of the directory, which is made where it is missing."""
    directory.mkdir(parents=True, exist_ok=True)
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY)


def held(descriptor: int) -> Path:
    """The path that leads to the directory wherever it is now, in a process that has the descriptor."""
    return Path(f"/proc/self/fd/{descriptor}")
