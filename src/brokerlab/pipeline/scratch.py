"""Where Spark keeps what does not fit in memory. Held by a lock that ends with the process: what an analysis that was
killed left behind is deleted by the next one."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "brokerlab-spark-"
LOCK = "held"
NO_LOCK_S = 24 * 3600.0  # without a lock it is of an earlier version, or being made at this moment


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """A new directory for the length of the block, under TMPDIR."""
    delete_abandoned(Path(tempfile.gettempdir()))
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name,
        (Path(name) / ".new").open("w") as lock,  # not inherited: Spark's JVM does not hold it
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        (Path(name) / ".new").rename(Path(name) / LOCK)  # a lock that can be seen is held
        yield Path(name)


def delete_abandoned(parent: Path) -> list[Path]:
    """Delete the scratch directories of this user whose process is gone; returns them."""
    gone = []
    for path in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if path.lstat().st_uid == os.getuid() and not path.is_symlink() and _is_abandoned(path):
                shutil.rmtree(path, ignore_errors=True)
                gone.append(path)
    return gone


def _is_abandoned(path: Path) -> bool:
    try:
        with (path / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return time.time() - path.stat().st_mtime > NO_LOCK_S
