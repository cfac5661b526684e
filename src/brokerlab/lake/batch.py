"""A batch of runs, written aside: read and reconciled in one way, written by Spark, or without it where the runs are few.

    <layer>/<table>/batch=<batch>/run=<run>/part-*.parquet

A batch has a directory of its own in every table, so writers never meet; a batch that was never committed is in no
manifest, and readers do not see it.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab import __version__
from brokerlab.errors import MeasurementError
from brokerlab.lake import facts
from brokerlab.lake.evidence import known_files, read_files
from brokerlab.lake.manifest import Entry, File
from brokerlab.lake.reconcile import EvidenceRows, Row, all_written, evidence_rows
from brokerlab.lake.store import LocalStore, Store
from brokerlab.lake.survey import Candidate, Part, Refusal, Why, parts_of
from brokerlab.lake.tables import CELLS, DOCUMENTS, EVIDENCE_COUNT, EXECUTIONS, PLACES, REASONS, RUNS, in_files
from brokerlab.model.arrow import arrow_schema, as_declared
from brokerlab.results.tables import EVIDENCE_FILE, RESULT_TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WRITTEN_AS = {
    "compression": "zstd",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",  # the manifest says what is whole
}
TIME = "%Y%m%dT%H%M%S"

Parts = Mapping[str, Mapping[str, Sequence[Part]]]  # by run and table


@dataclass(frozen=True)
class Read:
    """What is to be written: runs whose layers add up, rows of the lake's own tables by place, files of result tables."""

    sound: tuple[Candidate, ...]
    rows: Mapping[str, list[Row]]
    parts: Parts
    refused: tuple[Refusal, ...]


def read(candidates: Sequence[Candidate], spark: Callable[[], SparkSession], note: Callable[[str], None]) -> Read:
    """Bronze, silver and the rows of `runs` and `cells`. `spark` is asked for only where evidence must be read again."""
    parts = {c.run: parts_of(c.directory) for c in candidates}
    files: dict[str, list[Row] | MeasurementError] = {}
    again = []
    for c in candidates:
        known = known_files(c)
        if known is None:
            again.append(c)
        else:
            files[c.run] = known
    if again:
        runs = "1 run" if len(again) == 1 else f"{len(again)} runs"
        note(f"reading the evidence of {runs} again: it is newer than the tables, or these are of 0.1.0")
        files |= read_files(spark(), again)
    found, refused = {}, []
    for c in candidates:
        of_run = files[c.run]
        try:
            if isinstance(of_run, MeasurementError):
                raise of_run
            found[c.run] = evidence_rows(c.run, of_run, parts[c.run])
        except MeasurementError as wrong:
            refused.append(Refusal(c.directory.path, Why.MISMATCH, str(wrong)))
    sound = tuple(c for c in candidates if c.run in found)
    return Read(sound, _own_rows(sound, found), {c.run: parts[c.run] for c in sound}, tuple(refused))


def write_with_spark(spark: SparkSession, store: Store, what: Read) -> tuple[list[Entry], list[Refusal]]:
    """Write the tables of these runs aside; returns what a manifest has to say of them, and the runs that changed
    meanwhile. MeasurementError where the files written have other rows than they must: nothing is to be committed."""
    from brokerlab.pipeline.gold import queries_at_once

    batch = _new_batch()
    with queries_at_once() as pool:
        list(pool.map(lambda made: _write(made[1], f"{store.uri}/{made[0]}/batch={batch}"), _frames(spark, what)))
    return _entries(store, what, batch)


def write_at_once(store: LocalStore, what: Read) -> tuple[list[Entry], list[Refusal]]:
    """The same rows without Spark, run by run: on one machine this is faster (ingest.WITHOUT_SPARK)."""
    batch = _new_batch()
    for candidate in what.sound:
        for place, table in _tables(what, candidate):
            folder = store.root / place / f"batch={batch}" / f"run={quote(candidate.run, safe=' ')}"
            folder.mkdir(parents=True)
            pq.write_table(table, folder / "part-0.parquet", compression="zstd")
    return _entries(store, what, batch)


def is_current(candidates: Sequence[Candidate]) -> bool:
    """Whether no evidence of these runs has to be read again."""
    return all(known_files(c) is not None for c in candidates)


def _new_batch() -> str:
    return f"{datetime.now(UTC).strftime(TIME)}-{secrets.token_hex(4)}"


def _entries(store: Store, what: Read, batch: str) -> tuple[list[Entry], list[Refusal]]:
    files = {place: _files_by_run(store, f"{place}/batch={batch}") for place in PLACES}
    all_written(what.rows, what.parts, files)
    entries, refused = [], []
    for c in what.sound:
        if c.has_changed():
            refused.append(Refusal(c.directory.path, Why.MISMATCH, f"{c.run} changed while it was read: add it again"))
            continue
        tables = {place: tuple(of_run[c.run]) for place, of_run in files.items() if c.run in of_run}
        entries.append(
            Entry(
                run=c.run, source=str(c.made_from), inputs=c.inputs, brokerlab=__version__, batch=batch, tables=tables
            )
        )
    return entries, refused


def _own_rows(candidates: Sequence[Candidate], found: Mapping[str, EvidenceRows]) -> dict[str, list[Row]]:
    """Rows of the tables that only the lake has, by place."""
    return {
        f"bronze/{EVIDENCE_FILE.name}": [row for c in candidates for row in found[c.run].files],
        f"silver/{EVIDENCE_COUNT.name}": [row for c in candidates for row in found[c.run].counts],
        f"gold/{RUNS.name}": [facts.run_row(c) for c in candidates],
        f"gold/{CELLS.name}": [row for c in candidates for row in facts.cell_rows(c)],
        f"gold/{EXECUTIONS.name}": [row for c in candidates for row in facts.execution_rows(c)],
        f"gold/{REASONS.name}": [row for c in candidates for row in facts.reason_rows(c)],
        f"gold/{DOCUMENTS.name}": [row for c in candidates for row in facts.document_rows(c)],
    }


def _frames(spark: SparkSession, what: Read) -> Iterator[tuple[str, DataFrame]]:
    """(place, rows) of every table that has any."""
    from brokerlab.lake.gold import gold_frame

    directories = {c.run: c.directory.path.absolute() for c in what.sound}
    for place, found in what.rows.items():
        if found:
            yield place, spark.createDataFrame(pa.Table.from_pylist(found, arrow_schema(PLACES[place])))
    for name, table in RESULT_TABLES.items():
        frame = gold_frame(spark, table, {run: of_run[name] for run, of_run in what.parts.items()}, directories)
        if frame is not None:
            yield f"gold/{name}", frame


def _tables(what: Read, candidate: Candidate) -> Iterator[tuple[str, pa.Table]]:
    """(place, rows) of every table of one run that has any, without the column that is in the path."""
    for place, rows in what.rows.items():
        mine = [row for row in rows if row["run"] == candidate.run]
        if mine:
            yield place, pa.Table.from_pylist(mine, arrow_schema(in_files(PLACES[place])))
    for name, table in RESULT_TABLES.items():
        stored = [as_declared(pq.read_table(p.path), table) for p in what.parts[candidate.run][name] if p.rows]
        if stored:
            yield f"gold/{name}", pa.concat_tables(stored).drop_columns(["run"]).cast(arrow_schema(in_files(table)))


def _write(frame: DataFrame, address: str) -> None:
    """One file a run. Spark's own commit is to a directory that only this batch has."""
    frame.repartition("run").write.partitionBy("run").options(**WRITTEN_AS).parquet(address)


def _files_by_run(store: Store, directory: str) -> dict[str, list[File]]:
    found: dict[str, list[File]] = defaultdict(list)
    for path, size in store.files(directory).items():
        run = unquote(path.split("/")[-2].removeprefix("run="))
        found[run].append(File(path=path, bytes=size, rows=store.rows(path)))
    return dict(found)
