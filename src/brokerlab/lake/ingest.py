"""Runs into the lake: written aside in batches, reconciled from layer to layer, then committed by one manifest.

    <layer>/<table>/batch=<batch>/run=<run>/part-*.parquet

A batch has a directory of its own in every table, so writers never meet; a batch that was never committed is in no
manifest, and readers do not see it.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from brokerlab import __version__
from brokerlab.errors import MeasurementError
from brokerlab.lake import facts
from brokerlab.lake.manifest import Entry, File, Manifest, commit, kept, present
from brokerlab.lake.store import Store
from brokerlab.lake.survey import Candidate, Part, Refusal, inputs_of, parts_of, survey
from brokerlab.lake.tables import CELLS, EVIDENCE_COUNT, EVIDENCE_FILE, PLACES, RUNS
from brokerlab.model.arrow import arrow_schema
from brokerlab.results.tables import QUARANTINED_ROW, RESULT_TABLES, UNREADABLE_SEGMENT

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
    found = survey(directories, before)
    to_do = found.to_do
    if again:
        known = {run: entry.model_copy(update={"inputs": ""}) for run, entry in before.runs.items()}
        to_do = survey(directories, before.model_copy(update={"runs": known})).to_do
    if to_do:
        with session() as spark:
            for number in range(0, len(to_do), RUNS_AT_ONCE):
                part = to_do[number : number + RUNS_AT_ONCE]
                note(f"adding runs {number + 1} to {number + len(part)} of {len(to_do)}")
                commit(store, _with(write_batch(spark, store, part), again))
        delete_unused(store)
    done = [c.run for c in to_do]
    return Added(
        added=tuple(run for run in done if run not in before.runs),
        changed=tuple(run for run in done if run in before.runs),
        same=tuple(run for run in found.same if run not in done),
        refused=found.refused,
    )


def write_batch(spark: SparkSession, store: Store, candidates: Sequence[Candidate]) -> list[Entry]:
    """Write the tables of these runs aside; returns what a manifest has to say of them. MeasurementError where the rows
    of one layer are not those of the next, or a run changed meanwhile."""
    from brokerlab.pipeline.gold import queries_at_once

    batch = f"{datetime.now(UTC).strftime(_TIME)}-{secrets.token_hex(4)}"
    parts = {c.run: parts_of(c.directory) for c in candidates}
    rows = _own_rows(spark, candidates)
    expected = _expected_rows(rows, parts)
    _set_aside_in_gold(rows[f"silver/{EVIDENCE_COUNT.name}"], parts)
    with queries_at_once() as pool:
        frames = _frames(spark, candidates, rows, parts)
        list(pool.map(lambda made: _write(made[1], f"{store.uri}/{made[0]}/batch={batch}"), frames))
    files = {place: _files_by_run(store, f"{place}/batch={batch}") for place in PLACES}
    for (place, run), n in expected.items():
        written = sum(file.rows for file in files[place].get(run, ()))
        if written != n:
            raise MeasurementError(
                f"{run}: {n} rows of {place} should be in the lake, {written} were written",
                hint="nothing was added: add the run again",
            )
    for c in candidates:
        if inputs_of(c.directory) != c.inputs:
            raise MeasurementError(f"{c.run} changed while it was read", hint="nothing was added: add it again")
    return [
        Entry(
            run=c.run,
            source=str(c.directory.path.resolve()),
            inputs=c.inputs,
            brokerlab=__version__,
            batch=batch,
            tables={place: tuple(of_run[c.run]) for place, of_run in files.items() if c.run in of_run},
        )
        for c in candidates
    ]


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


def _own_rows(spark: SparkSession, candidates: Sequence[Candidate]) -> dict[str, list[dict[str, Any]]]:
    """Rows of the tables that only the lake has, by place."""
    from brokerlab.lake.evidence import count_rows, evidence_of, file_rows, judged_rows

    evidence = [evidence_of(c) for c in candidates]
    judged = judged_rows(spark, evidence)
    return {
        f"bronze/{EVIDENCE_FILE.name}": [row for one in evidence for row in file_rows(one)],
        f"silver/{EVIDENCE_COUNT.name}": [row for one in evidence for row in count_rows(one, judged)],
        f"gold/{RUNS.name}": [facts.run_row(c) for c in candidates],
        f"gold/{CELLS.name}": [row for c in candidates for row in facts.cell_rows(c)],
    }


def _frames(
    spark: SparkSession,
    candidates: Sequence[Candidate],
    rows: Mapping[str, list[dict[str, Any]]],
    parts: Mapping[str, Mapping[str, Sequence[Part]]],
) -> Iterator[tuple[str, DataFrame]]:
    """(place, rows) of every table that has any."""
    from brokerlab.lake.gold import gold_frame

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


def _expected_rows(
    own: Mapping[str, list[dict[str, Any]]], parts: Mapping[str, Mapping[str, Sequence[Part]]]
) -> dict[tuple[str, str], int]:
    """Rows that each (place, run) must have, by what was read."""
    expected = {(place, run): n for place, found in own.items() for run, n in Counter(r["run"] for r in found).items()}
    for run, tables in parts.items():
        expected |= {(f"gold/{name}", run): sum(p.rows for p in of_table) for name, of_table in tables.items()}
    return expected


def _set_aside_in_gold(counts: list[dict[str, Any]], parts: Mapping[str, Mapping[str, Sequence[Part]]]) -> None:
    """Every row and file of evidence that silver leaves out must be named in a gold table of its run. Runs analyzed by
    0.1.0 have no unreadable_segment: of them only rows are compared."""
    for run, tables in parts.items():
        mine = [row for row in counts if row["run"] == run]
        wanted = {QUARANTINED_ROW.name: sum(r["set_aside"] for r in mine)}
        if tables[UNREADABLE_SEGMENT.name]:
            wanted[UNREADABLE_SEGMENT.name] = sum(r["unreadable_files"] for r in mine)
        for name, n in wanted.items():
            found = sum(part.rows for part in tables[name])
            if found != n:
                raise MeasurementError(
                    f"{run}: the evidence has {n} rows for {name}, its tables have {found}",
                    hint=f"the evidence changed after the analysis: brokerlab analyze {run}, then add it again",
                )


def _files_by_run(store: Store, directory: str) -> dict[str, list[File]]:
    found: dict[str, list[File]] = defaultdict(list)
    for path, size in store.files(directory).items():
        run = unquote(path.split("/")[-2].removeprefix("run="))
        found[run].append(File(path=path, bytes=size, rows=store.rows(path)))
    return dict(found)
