"""Where a lake's files are: the few operations that the lake needs besides what Spark reads and writes itself."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Protocol

import pyarrow.parquet as pq


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
        target.parent.mkdir(parents=True, exist_ok=True)
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
