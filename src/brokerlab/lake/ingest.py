"""Runs into the lake: written aside in batches, reconciled from layer to layer, then committed by one manifest.

    <layer>/<table>/batch=<batch>/run=<run>/part-*.parquet

A batch has a directory of its own in every table, so writers never meet; a batch that was never committed is in no
manifest, and readers do not see it.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa

from brokerlab import __version__
from brokerlab.lake import facts
from brokerlab.lake.gold import gold_frame
from brokerlab.lake.manifest import Entry, File, Manifest, commit, kept, present
from brokerlab.lake.reconcile import EvidenceRows, Row, all_written, evidence_rows
from brokerlab.lake.store import Store
from brokerlab.lake.survey import Candidate, Part, Refusal, Why, inputs_of, parts_of, survey
from brokerlab.lake.tables import CELLS, DOCUMENTS, EVIDENCE_COUNT, EVIDENCE_FILE, PLACES, RUNS
from brokerlab.model.arrow import arrow_schema
from brokerlab.pipeline.gold import queries_at_once
from brokerlab.results.tables import RESULT_TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUNS_AT_ONCE = 50  # a batch; what was committed before a crash stays
ABANDONED_AFTER = timedelta(days=1)  # no writer takes that long between writing a batch and committing it
WRITTEN_AS = {
    "compression": "zstd",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",  # the manifest says what is whole
}
_TIME = "%Y%m%dT%H%M%S"

Session = Callable[[], "AbstractContextManager[SparkSession]"]


@dataclass(frozen=True)
class Added:
    """What `add` did: runs by name, and directories that were refused."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    same: tuple[str, ...]
    refused: tuple[Refusal, ...]


def add(
    store: Store,
    directories: Sequence[Path],
    session: Session,
    note: Callable[[str], None] = lambda _: None,
    *,
    again: bool = False,
) -> Added:
    """Bring the runs in `directories` into the lake. Runs that it has as they are stay untouched, unless `again`; where
    nothing is left to do, Spark is not started."""
    before = present(store)
    found = survey(directories, _without_inputs(before) if again else before)
    to_do, done, refused = found.to_do, [], list(found.refused)
    if to_do:
        with session() as spark:
            for number in range(0, len(to_do), RUNS_AT_ONCE):
                part = to_do[number : number + RUNS_AT_ONCE]
                note(f"adding runs {number + 1} to {number + len(part)} of {len(to_do)}")
                entries, wrong = write_batch(spark, store, part)
                commit(store, _with(entries, again))
                done += [entry.run for entry in entries]
                refused += wrong
        delete_unused(store)
    return Added(
        added=tuple(run for run in done if run not in before.runs),
        changed=tuple(run for run in done if run in before.runs),
        same=found.same,
        refused=tuple(refused),
    )


def write_batch(
    spark: SparkSession, store: Store, candidates: Sequence[Candidate]
) -> tuple[list[Entry], list[Refusal]]:
    """Write the tables of these runs aside; returns what a manifest has to say of them, and the runs whose layers do not
    add up. MeasurementError where the files that were written have other rows than they must: nothing is to be committed."""
    batch = f"{datetime.now(UTC).strftime(_TIME)}-{secrets.token_hex(4)}"
    parts = {c.run: parts_of(c.directory) for c in candidates}
    found, refused = evidence_rows(spark, candidates, parts)
    sound = [c for c in candidates if c.run in found]
    parts = {c.run: parts[c.run] for c in sound}
    rows = _own_rows(sound, found)
    with queries_at_once() as pool:
        frames = _frames(spark, sound, rows, parts)
        list(pool.map(lambda made: _write(made[1], f"{store.uri}/{made[0]}/batch={batch}"), frames))
    files = {place: _files_by_run(store, f"{place}/batch={batch}") for place in PLACES}
    all_written(rows, parts, files)
    entries = []
    for c in sound:
        if inputs_of(c.directory) != c.inputs:
            refused.append(Refusal(c.directory.path, Why.MISMATCH, f"{c.run} changed while it was read: add it again"))
            continue
        tables = {place: tuple(of_run[c.run]) for place, of_run in files.items() if c.run in of_run}
        source = str(c.directory.path.resolve())
        entries.append(
            Entry(run=c.run, source=source, inputs=c.inputs, brokerlab=__version__, batch=batch, tables=tables)
        )
    return entries, refused


def delete_unused(store: Store) -> int:
    """Delete what no kept manifest names: replaced rows, and batches that were never committed and are a day old.
    Returns the number of files."""
    manifests = kept(store)
    named = {f.path for m in manifests for entry in m.runs.values() for of in entry.tables.values() for f in of}
    committed = {entry.batch for m in manifests for entry in m.runs.values()}
    deadline = (datetime.now(UTC) - ABANDONED_AFTER).strftime(_TIME)
    gone = 0
    for place in PLACES:
        for directory in store.names(place):
            batch = directory.removeprefix("batch=")
            if batch not in committed and batch > deadline:
                continue  # its writer may be about to commit it
            files = store.files(f"{place}/{directory}")
            unused = [path for path in files if path not in named]
            gone += len(unused)
            if len(unused) == len(files):
                store.delete(f"{place}/{directory}")
            else:
                for of_run in {path.rpartition("/")[0] for path in unused}:
                    store.delete(of_run)
    return gone


def _without_inputs(manifest: Manifest) -> Manifest:
    """The same runs, all as if their files had changed."""
    runs = {run: entry.model_copy(update={"inputs": ""}) for run, entry in manifest.runs.items()}
    return manifest.model_copy(update={"runs": runs})


def _with(entries: Sequence[Entry], again: bool) -> Callable[[Manifest], dict[str, Entry]]:
    """The change of a commit. A run that another writer has added from the same files meanwhile stays as it is."""

    def change(manifest: Manifest) -> dict[str, Entry]:
        runs = dict(manifest.runs)
        for entry in entries:
            there = runs.get(entry.run)
            if again or there is None or there.inputs != entry.inputs:
                runs[entry.run] = entry
        return runs

    return change


def _own_rows(candidates: Sequence[Candidate], found: Mapping[str, EvidenceRows]) -> dict[str, list[Row]]:
    """Rows of the tables that only the lake has, by place."""
    return {
        f"bronze/{EVIDENCE_FILE.name}": [row for c in candidates for row in found[c.run].files],
        f"silver/{EVIDENCE_COUNT.name}": [row for c in candidates for row in found[c.run].counts],
        f"gold/{RUNS.name}": [facts.run_row(c) for c in candidates],
        f"gold/{CELLS.name}": [row for c in candidates for row in facts.cell_rows(c)],
        f"gold/{DOCUMENTS.name}": [row for c in candidates for row in facts.document_rows(c)],
    }


def _frames(
    spark: SparkSession,
    candidates: Sequence[Candidate],
    rows: Mapping[str, list[Row]],
    parts: Mapping[str, Mapping[str, Sequence[Part]]],
) -> Iterator[tuple[str, DataFrame]]:
    """(place, rows) of every table that has any."""
    directories = {c.run: c.directory.path.absolute() for c in candidates}
    for place, found in rows.items():
        if found:
            yield place, spark.createDataFrame(pa.Table.from_pylist(found, arrow_schema(PLACES[place])))
    for name, table in RESULT_TABLES.items():
        frame = gold_frame(spark, table, {run: of_run[name] for run, of_run in parts.items()}, directories)
        if frame is not None:
            yield f"gold/{name}", frame


def _write(frame: DataFrame, address: str) -> None:
    """One file a run. Spark's own commit is to a directory that only this batch has."""
    frame.repartition("run").write.partitionBy("run").options(**WRITTEN_AS).parquet(address)


def _files_by_run(store: Store, directory: str) -> dict[str, list[File]]:
    found: dict[str, list[File]] = defaultdict(list)
    for path, size in store.files(directory).items():
        run = unquote(path.split("/")[-2].removeprefix("run="))
        found[run].append(File(path=path, bytes=size, rows=store.rows(path)))
    return dict(found)
