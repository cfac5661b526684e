"""Which segments of a run can be read, and which cannot, each with its reason. Nothing is moved or changed: evidence
stays as it was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.evidence.compacted import Compacted, compacted_files
from brokerlab.evidence.identity import Expected, Identity, repeated
from brokerlab.model.arrow import as_declared, later_columns, schema_problem
from brokerlab.model.tables import Table

ROOTS = ("evidence", "probes", "events")
QUARANTINE = "quarantine"  # where 0.1.0 moved what it could not read, beside a file with the reason


@dataclass(frozen=True)
class Segment:
    """One readable file of one table, with the rows its footer declares."""

    path: Path
    execution: str  # "c01-r1"
    table: str
    rows: int
    later: tuple[str, ...] = ()  # columns its writer did not have yet: to be read with their default
    identity: Identity | None = None
    compacted: Compacted | None = None  # a file that has its rows and those of others


@dataclass(frozen=True)
class UnreadableSegment:
    """One file that cannot be used. `path` is relative to the run directory. Without a file that does not belong here (a
    copy, another attempt or run) nothing is missing."""

    path: Path
    execution: str
    table: str
    reason: str
    belongs: bool = True

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def segments(
    run_directory: Path, table: Table, expected: Expected | None = None, *, footers_only: bool = False
) -> tuple[list[Segment], list[UnreadableSegment]]:
    """The readable segments of `table` over all executions, and those that are not.

    Every row group is read once, so damage behind an intact footer is found here and not in the middle of a query;
    with `footers_only` it is left to whoever reads the rows, and segments that are current in a compacted file are not
    opened at all.
    Names that begin with a dot are still being written and are ignored. A segment that is there twice, or that
    belongs to another run or attempt than `expected`, is not readable.
    """
    readable = []
    unreadable = list(_in_quarantine(run_directory, table))
    compacted = compacted_files(run_directory, ROOTS, table) if footers_only else {}
    for path in _files(run_directory, table):
        if path in compacted:
            file, one = compacted[path]
            readable.append(
                Segment(path, path.parent.parent.name, table.name, one.rows, file.later, one.identity, file)
            )
            continue
        reason, segment = _check(path, table, footers_only)
        execution = path.parent.parent.name
        if segment is None:
            unreadable.append(UnreadableSegment(path.relative_to(run_directory), execution, table.name, reason))
        else:
            readable.append(segment)
    foreign = _not_of_this_run(run_directory, readable, expected or Expected())
    unreadable += foreign.values()
    return [segment for segment in readable if segment.path not in foreign], unreadable


def new_segments(
    run_directory: Path, table: Table, paths: Iterable[Path], expected: Expected, before: Iterable[Segment]
) -> tuple[list[Segment], list[UnreadableSegment]]:
    """Of files of `table` that have appeared: those that can be read, and those that cannot. A segment that is among
    `before`, under whatever name, is not readable again. Files that have gone meanwhile are passed over."""
    there = {s.identity: s.path for s in before if s.identity is not None}
    readable, unreadable = [], []
    for path in sorted(paths):
        if not path.exists():
            continue
        name, execution = path.relative_to(run_directory), path.parent.parent.name
        reason, segment = _check(path, table, footers_only=True)
        if segment is None:
            unreadable.append(UnreadableSegment(name, execution, table.name, reason))
        elif segment.identity in there:
            first = there[segment.identity].relative_to(run_directory)
            reason = f"the same segment as {first}"
            unreadable.append(UnreadableSegment(name, execution, table.name, reason, belongs=False))
        else:
            readable.append(segment)
    foreign = _not_of_this_run(run_directory, readable, expected)
    return [s for s in readable if s.path not in foreign], [*unreadable, *foreign.values()]


def _not_of_this_run(run_directory: Path, readable: list[Segment], expected: Expected) -> dict[Path, UnreadableSegment]:
    """Copies, and segments of other runs, executions and attempts, by path."""
    copies = repeated(readable)
    found = {}
    for segment in readable:
        reason, belongs = expected.problem(segment.identity, segment.execution), False
        if segment.path in copies:
            first, same = copies[segment.path]
            name = first.relative_to(run_directory)
            reason = f"the same segment as {name}" if same else f"another segment with the identity of {name}"
            belongs = not same
        if reason is not None:
            path = segment.path.relative_to(run_directory)
            found[segment.path] = UnreadableSegment(path, segment.execution, segment.table, reason, belongs)
    return found


def rows(execution: Path, table: Table) -> Iterator[dict[str, Any]]:
    """Rows of one execution's closed segments, later columns of older files with their default. Raises OSError where
    one cannot be read: the analysis lists it."""
    for path in sorted((execution / table.name).glob("[!.]*.parquet")):
        try:
            found = pq.read_table(path)
        except pa.ArrowException as e:
            raise OSError(f"{path} cannot be read: {e}") from e
        wrong = schema_problem(found.schema, table)
        if wrong is not None:
            raise OSError(f"{path} cannot be read: {wrong}")
        yield from as_declared(found, table).to_pylist()


def _files(run_directory: Path, table: Table) -> list[Path]:
    return [
        path
        for root in ROOTS
        for path in sorted((run_directory / root).glob(f"*/{table.name}/*.parquet"))
        if not path.name.startswith(".")
    ]


def _check(path: Path, table: Table, footers_only: bool) -> tuple[str, Segment | None]:
    """The segment, or why the file cannot be used."""
    try:
        with pq.ParquetFile(path) as file:
            found = file.schema_arrow
            wrong = schema_problem(found, table)
            if wrong is not None:
                return wrong, None
            rows = file.metadata.num_rows if footers_only else _rows_read(file)
            if rows != file.metadata.num_rows:
                return f"{rows} rows where the footer says {file.metadata.num_rows}", None
            later = tuple(c.name for c in later_columns(found, table))
            return "", Segment(path, path.parent.parent.name, table.name, rows, later, Identity.of(found))
    except (pa.ArrowException, OSError, ValueError) as e:
        size = path.stat().st_size
        return f"unreadable, {size} bytes: {' '.join(str(e).split())[:200]}", None


def _rows_read(file: pq.ParquetFile) -> int:
    return sum(batch.num_rows for batch in file.iter_batches(batch_size=1 << 18))


def _in_quarantine(run_directory: Path, table: Table) -> Iterator[UnreadableSegment]:
    base = run_directory / QUARANTINE
    for path in sorted(base.glob(f"*/*/{table.name}/*.parquet")):
        note = path.with_name(path.name + ".reason")
        reason = note.read_text().strip() if note.exists() else "no reason was recorded"
        yield UnreadableSegment(path.relative_to(run_directory), path.parent.parent.name, table.name, reason)
