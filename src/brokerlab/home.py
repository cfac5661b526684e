"""Where things are kept on this machine: the cache (BROKERLAB_HOME) and the runs (BROKERLAB_RUNS, default ./runs)."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path


def cache_directory() -> Path:
    """BROKERLAB_HOME, else brokerlab under XDG_CACHE_HOME or ~/.cache."""
    given = os.environ.get("BROKERLAB_HOME")
    if given:
        return Path(given).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "brokerlab"


def runs_directory() -> Path:
    """BROKERLAB_RUNS, else ./runs."""
    return Path(os.environ.get("BROKERLAB_RUNS", "runs")).expanduser().absolute()


def free_bytes() -> dict[Path, int]:
    """What is left where we write. Shown when a disk is full, as the kernel does not say which one it was."""
    places = (cache_directory(), runs_directory(), Path(tempfile.gettempdir()))
    return {place: shutil.disk_usage(_existing(place)).free for place in places}


def _existing(place: Path) -> Path:
    while not place.exists():
        place = place.parent
    return place
