"""Where a lake's files are: the few operations that the lake needs besides what Spark reads and writes itself."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pyarrow.parquet as pq

from brokerlab.errors import DiskFullError, MachineError

FULL = ("No space left on device", "Disk quota exceeded", "DSQuotaExceededException", "QuotaExceededException")


class Store(Protocol):
    """Files by path relative to the lake, with "/" between the parts."""

    @property
    def uri(self) -> str:
        """The lake's address, as Spark takes it, without a slash at the end."""

    def read(self, path: str) -> bytes:
        """The whole file. FileNotFoundError where there is none."""

    def create(self, path: str, content: bytes) -> None:
        """Write a file whole or not at all. FileExistsError where there is one already: of two that create the same
        file at the same time, one gets the error. Every commit depends on this."""

    def names(self, directory: str) -> list[str]:
        """What is directly in a directory, in order; nothing where it does not exist. Names that begin with a dot are
        temporary files and are left out."""

    def files(self, directory: str) -> dict[str, int]:
        """Path and bytes of all Parquet files below a directory, in order."""

    def rows(self, path: str) -> int:
        """Rows that the footer of a Parquet file declares. ValueError or OSError where it cannot be read."""

    def delete(self, path: str) -> None:
        """A file, or a directory with all that is in it; nothing happens where it does not exist."""


@contextmanager
def problems_named(store: Store) -> Iterator[None]:
    """What goes wrong with the lake's file system within the block, as MachineError with the lake's address. What was
    committed before stays; nothing else is in the lake."""
    try:
        yield
    except Exception as error:
        if not _is_of_files(error) or _is_elsewhere(store, error):
            raise
        said = _first_line(error)
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or any(word in str(error) for word in FULL):
            hint = "free some space and add the runs again: what was added before is whole"
            raise DiskFullError(f"no space left in the lake {store.uri}", hint=hint) from error
        hint = "check the address and your access to it; the lake is as it was before"
        raise MachineError(f"the lake {store.uri} cannot be used: {said}", hint=hint) from error


def _is_of_files(error: Exception) -> bool:
    """Python's error of a file, or what Spark says of one. A look at a folder does not import Spark for the question."""
    if isinstance(error, OSError) or "pyspark" not in sys.modules:
        return isinstance(error, OSError)
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return isinstance(error, Py4JJavaError | PySparkException)


def _is_elsewhere(store: Store, error: BaseException) -> bool:
    """Whether the error names a file that is neither in the lake nor a folder above it: of a run, say, that was deleted
    while it was read; or is of a pipe or a terminal, which the lake has none of."""
    if isinstance(error, BrokenPipeError):
        return True
    name = getattr(error, "filename", None)
    if not isinstance(store, LocalStore) or not isinstance(name, str):
        return False
    named = Path(name).absolute()
    return not named.is_relative_to(store.root) and not store.root.is_relative_to(named)


def _first_line(error: BaseException) -> str:
    """The innermost cause that Java names, else the first line of the text."""
    causes = [line.removeprefix("Caused by: ") for line in str(error).splitlines() if line.startswith("Caused by: ")]
    lines = [line.strip() for line in (*causes[-1:], *str(error).splitlines()) if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]


class LocalStore:
    """A folder of this machine, or of a file system that is mounted here."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    @property
    def uri(self) -> str:
        return self.root.as_uri()

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def create(self, path: str, content: bytes) -> None:
        target = self.root / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:  # a file, or a link that leads nowhere: not the file that was to be created
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), error.filename) from error
        fd, temporary = tempfile.mkstemp(dir=target.parent, prefix=".new-")
        try:
            with os.fdopen(fd, "wb") as f:
                f.write(content)
                f.flush()
                os.fsync(f.fileno())
            Path(temporary).chmod(0o644)
            os.link(temporary, target)  # unlike a rename, it never replaces a file
        finally:
            Path(temporary).unlink(missing_ok=True)

    def names(self, directory: str) -> list[str]:
        folder = self.root / directory
        return sorted(p.name for p in folder.iterdir() if not p.name.startswith(".")) if folder.is_dir() else []

    def files(self, directory: str) -> dict[str, int]:
        found = sorted((self.root / directory).rglob("[!.]*.parquet"))
        return {path.relative_to(self.root).as_posix(): path.stat().st_size for path in found}

    def rows(self, path: str) -> int:
        return int(pq.read_metadata(self.root / path).num_rows)

    def delete(self, path: str) -> None:
        target = self.root / path
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)
