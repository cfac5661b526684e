"""Where things are kept on this machine: the cache (BROKERLAB_HOME) and the runs (BROKERLAB_RUNS, default ./runs)."""

from __future__ import annotations

import os
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
