"""The small segments of a writer once more, as one file: <execution>/compacted/<table>/<writer>-<number>.parquet.

A long run leaves thousands of segments of a few rows, and each costs milliseconds to open. So a writer keeps the rows of
its small segments and writes them again, together, when it ends. The segments stay as they are: a reader takes the
compacted file in their place only where every one of them is still there as the list in its footer says, and a run without
it (the writer was killed) is read segment by segment. It can be deleted at any time.
"""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.evidence.identity import Identity
from brokerlab.model.arrow import later_columns, schema_problem
from brokerlab.model.tables import Table

COMPACTED = "compacted"
LIST_KEY = b"brokerlab.segments"
SMALL_BYTES = 256 << 10  # larger segments cost little more than reading their rows
KEPT_BYTES = 16 << 20  # rows in memory; from here on a file of them is written
FEWEST = 4  # segments that are worth a file


@dataclass(frozen=True)
class Listed:
    """One segment whose rows a compacted file has."""

    identity: Identity
    rows: int
    bytes: int


@dataclass(frozen=True)
class Compacted:
    """A compacted file with the segments it stands for, in the order of its rows."""

    path: Path
    listed: tuple[Listed, ...]
    later: tuple[str, ...]  # columns its writer did not have yet

    def file_of(self, listed: Listed) -> Path:
        """Where a segment lies by its own name."""
        return self.path.parent.parent.parent / self.path.parent.name / listed.identity.file_name

    def is_current(self) -> bool:
        """Every segment is there with its size, and none was written to since."""
        try:
            made_ns = self.path.stat().st_mtime_ns
            facts = [self.file_of(one).stat() for one in self.listed]
        except OSError:
            return False
        same = (f.st_size == one.bytes for f, one in zip(facts, self.listed, strict=True))
        return all(same) and all(f.st_mtime_ns <= made_ns for f in facts)


class Keeper:
    """What a writer of segments keeps, and writes as compacted files beside `directory`, the folder of its table."""

    def __init__(self, directory: Path, writer: str) -> None:
        self._directory = directory.parent / COMPACTED / directory.name
        self._writer = writer
        self._rows: list[pa.Table] = []
        self._listed: list[Listed] = []
        self._bytes = 0

    def keep(self, identity: Identity, rows: pa.Table, size: int) -> None:
        """After a segment was written."""
        if size > SMALL_BYTES:
            return
        self._rows.append(rows)
        self._listed.append(Listed(identity, rows.num_rows, size))
        self._bytes += rows.nbytes
        if self._bytes >= KEPT_BYTES:
            self.write()

    def write(self) -> None:
        """Best effort: without the file the segments are read, which takes longer."""
        rows, listed = self._rows, self._listed
        self._rows, self._listed, self._bytes = [], [], 0
        if len(listed) < FEWEST:
            return
        final = self._directory / f"{self._writer}-{listed[0].identity.number:06d}.parquet"
        temporary = final.with_name(f".{final.name}.tmp")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            pq.write_table(_with_list(pa.concat_tables(rows), listed), temporary, compression="zstd")
            temporary.replace(final)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def _with_list(rows: pa.Table, listed: Sequence[Listed]) -> pa.Table:
    of = listed[0].identity
    said = {
        "run": of.run, "execution": of.execution, "attempt": of.attempt, "writer": of.writer,
        "segments": [(one.identity.number, one.rows, one.bytes) for one in listed],
    }  # fmt: skip
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), LIST_KEY: json.dumps(said).encode()})


def compacted_files(run_directory: Path, roots: Sequence[str], table: Table) -> dict[Path, tuple[Compacted, Listed]]:
    """By the path of each segment that is current in a compacted file: that file, and its place in the list."""
    found: dict[Path, tuple[Compacted, Listed]] = {}
    for root in roots:
        for path in sorted((run_directory / root).glob(f"*/{COMPACTED}/{table.name}/[!.]*.parquet")):
            file = _opened(path, table)
            if file is not None and file.is_current():
                found |= {file.file_of(one): (file, one) for one in file.listed}
    return found


def _opened(path: Path, table: Table) -> Compacted | None:
    """None for a file that cannot be used: its segments can."""
    try:
        footer = pq.read_metadata(path)
        schema = footer.schema.to_arrow_schema()
        said = json.loads((schema.metadata or {})[LIST_KEY])
        of = (said["run"], said["execution"], said["attempt"], said["writer"])
        listed = tuple(Listed(Identity(*of, number), rows, size) for number, rows, size in said["segments"])
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        return None
    if schema_problem(schema, table) is not None or sum(one.rows for one in listed) != footer.num_rows:
        return None
    return Compacted(path, listed, tuple(c.name for c in later_columns(schema, table)))


def whole(files: Iterator[tuple[Compacted, Path]]) -> dict[Path, Compacted]:
    """Of (compacted file, one of its segments): by its path every file of which all segments are among them."""
    seen: dict[Path, set[Path]] = defaultdict(set)
    by_path = {}
    for file, segment in files:
        seen[file.path].add(segment)
        by_path[file.path] = file
    return {path: file for path, file in by_path.items() if len(seen[path]) == len(file.listed)}
