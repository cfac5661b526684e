"""The install cache on disk: one lock per entry, and entries that are either whole or not there."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from brokerlab.errors import InstallError
from brokerlab.home import cache_directory

Progress = Callable[[str, float], None]  # (what, share done from 0 to 1); the same as the broker contract's


def silent(what: str, share: float) -> None:
    """A Progress that is ignored."""


def entry(*parts: str) -> Path:
    """The path of a cache entry; its parent exists afterwards. Raises InstallError when the cache cannot be written."""
    path = cache_directory().joinpath(*parts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise InstallError(
            f"the cache {cache_directory()} cannot be written: {e.strerror or e}",
            hint="set BROKERLAB_HOME to a directory you can write to",
        ) from e
    return path


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock of one cache entry; other processes wait. The kernel drops it when the holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def new_directory(final: Path) -> Iterator[Path]:
    """A temporary directory beside `final` that takes its place when the block ends well, and vanishes otherwise.

    Call under `exclusive(final)`.
    """
    temporary = Path(tempfile.mkdtemp(prefix=f".{final.name}-", dir=final.parent))
    try:
        yield temporary
        temporary.chmod(0o755)  # mkdtemp makes it private; a cache may be shared between users
        temporary.rename(final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that readers see the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(number, "wb") as out:
            out.write(content)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
