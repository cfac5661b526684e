"""Where a planted secret could have got to: files of every kind, and command lines of every process."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

LOOK_EVERY_S = 0.5
CONFIGURATION_BYTES = 200_000


def spellings(planted: str) -> tuple[bytes, ...]:
    """As it is, and as it stands in JSON, in a URL's user part and in base64, which some protocols call a secret."""
    import base64
    from urllib.parse import quote

    told = (planted, json.dumps(planted)[1:-1], quote(planted, safe=""), base64.b64encode(planted.encode()).decode())
    return tuple(dict.fromkeys(s.encode() for s in told))


def holds(path: Path, planted: str) -> bool:
    """Whether a file tells the secret; of a Parquet file its values are read, since its bytes are compressed."""
    try:
        content = path.read_bytes()
        if path.suffix == ".parquet" and content[:4] == b"PAR1" and content[-4:] == b"PAR1":
            content += json.dumps(pq.read_table(path).to_pylist(), default=str, ensure_ascii=False).encode()
    except (FileNotFoundError, pa.ArrowInvalid):  # gone, or still being written
        return False
    return any(spelling in content for spelling in spellings(planted))


def files_with(directory: Path, planted: str) -> list[Path]:
    found = [p for p in directory.rglob("*") if p.is_file() and not p.is_symlink()]
    return [p for p in found if holds(p, planted)]


def command_lines() -> dict[int, bytes]:
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found[int(path.parent.name)] = path.read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


class Hunt(threading.Thread):
    """Looks while a run goes on: at all command lines, and at files below `directory`. A broker's own data may hold a
    secret where nobody but its owner can read it."""

    def __init__(self, directory: Path, planted: tuple[str, ...]) -> None:
        super().__init__(daemon=True)
        self._directory = directory
        self._planted = planted
        self._over = threading.Event()
        self.told: set[str] = set()
        self.seen: set[bytes] = set()

    def run(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            self.look()

    def look(self) -> None:
        lines = command_lines()
        self.seen |= set(lines.values())
        for planted in self._planted:
            for spelling in spellings(planted):
                self.told |= {f"command line: {line!r}" for line in lines.values() if spelling in line}
            for path in self._readable():
                if holds(path, planted):
                    self.told.add(f"file others may read: {path}")

    def _readable(self) -> list[Path]:
        """Small files of running clusters that others than the owner may read: configuration, not stored messages."""
        found: list[Path] = []
        for top in self._directory.glob("*/clusters"):
            for folder, inner, files in os.walk(top):  # what vanishes meanwhile is no error to it
                if not _open_to_others(Path(folder)):
                    inner.clear()
                    continue
                found += [p for p in map(Path(folder).joinpath, files) if _open_to_others(p)]
        return found

    def end(self) -> None:
        self._over.set()
        self.join(60)


def _open_to_others(path: Path) -> bool:
    """Others than the owner may read it, and it is small enough to be configuration."""
    try:
        about = path.lstat()
    except FileNotFoundError:
        return False
    small = stat.S_ISDIR(about.st_mode) or (stat.S_ISREG(about.st_mode) and about.st_size < CONFIGURATION_BYTES)
    return small and bool(about.st_mode & 0o077)
