"""Rows of a table by second, within a range of time, with the time in UTC and its zone written out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brokerlab.errors import UserError
from brokerlab.model.tables import Table
from brokerlab.results.analyzed import AnalyzedRun

SECOND = "second_unix_s"
TIME = "time_utc"  # the column that is added: 2026-11-17T21:00:00Z in CSV, a timestamp with zone in Parquet
EXAMPLE = "2026-11-17T21:00:00Z or 2026-11-17T22:00:00+01:00"


@dataclass(frozen=True)
class TimeRange:
    """Seconds from `begin_s`, included, to `end_s`, not included; None leaves that side open."""

    begin_s: float | None = None
    end_s: float | None = None


def parse_range(begin: str | None, end: str | None) -> TimeRange:
    """Of --from and --to. Raises UserError."""
    found = TimeRange(_parsed("--from", begin), _parsed("--to", end))
    if found.begin_s is not None and found.end_s is not None and found.begin_s >= found.end_s:
        raise UserError(f"--from must be before --to (got {begin} and {end})", hint="exchange them")
    return found


def _parsed(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UserError(
            f"{option} must be a time such as {EXAMPLE} (got {text!r})", hint="date, T, time, zone"
        ) from None
    if at.tzinfo is None:
        raise UserError(
            f"{option} must have a zone (got {text!r})", hint=f"write {text}Z for UTC, or the offset, as in {EXAMPLE}"
        )
    return at.timestamp()


def check_table(table: Table) -> None:
    """Raises UserError for a table without seconds."""
    if SECOND not in table.names():
        raise UserError(
            f"--from and --to need a table by second; {table.name} is none",
            hint="give --table reading_per_second, rate_per_second or latency_per_second",
        )


def in_range(run: AnalyzedRun, table: Table, wanted: TimeRange) -> pa.Table:
    """The rows in order of time, with the column TIME before all others."""
    rows = run.table(table)
    if wanted.begin_s is not None:
        rows = rows.filter(pc.greater_equal(rows[SECOND], wanted.begin_s))
    if wanted.end_s is not None:
        rows = rows.filter(pc.less(rows[SECOND], wanted.end_s))
    rows = rows.take(pc.sort_indices(rows, [(SECOND, "ascending")]))
    times = rows[SECOND].cast(pa.timestamp("s", tz="UTC"))
    return rows.add_column(0, pa.field(TIME, times.type), times)


def csv_in_range(runs: Sequence[AnalyzedRun], table: Table, wanted: TimeRange) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([TIME, *table.names()])
    for run in runs:
        writer.writerows(_lines(in_range(run, table, wanted)))
    return out.getvalue()


def _lines(rows: pa.Table) -> Iterator[list[object]]:
    columns = [rows[name].to_pylist() for name in rows.column_names[1:]]
    times = [f"{datetime.fromtimestamp(s, UTC):%Y-%m-%dT%H:%M:%SZ}" for s in rows[SECOND].to_pylist()]
    for time, *values in zip(times, *columns, strict=True):
        yield [time, *("" if v is None else str(v).lower() if isinstance(v, bool) else v for v in values)]


def write_parquet_in_range(file: Path, runs: Sequence[AnalyzedRun], table: Table, wanted: TimeRange) -> None:
    pq.write_table(pa.concat_tables([in_range(run, table, wanted) for run in runs]), file, compression="zstd")
