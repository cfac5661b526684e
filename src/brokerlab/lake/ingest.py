"""Runs into the lake: written aside in batches, reconciled from layer to layer, then committed by one manifest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from brokerlab.errors import MeasurementError
from brokerlab.lake.batch import TIME, is_current, read, write_at_once, write_with_spark
from brokerlab.lake.manifest import KEPT, Entry, Manifest, commit, kept, present
from brokerlab.lake.store import LocalStore, Store, problems_named
from brokerlab.lake.survey import FOLLOWED, Candidate, Refusal, survey
from brokerlab.lake.tables import PLACES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUNS_AT_ONCE = 50  # a batch; what was committed before a crash stays
# Runs at most. The tables of a run are small: one process copies them in 0.13 s, Spark on two cores in 0.65 s. Beyond that
# number a cluster is worth asking.
WITHOUT_SPARK = 1_000
ABANDONED_AFTER = timedelta(days=1)  # no writer takes that long between writing a batch and committing it

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
    without_spark: int = WITHOUT_SPARK,
) -> Added:
    """Bring the runs in `directories` into the lake. Runs that it has as they are stay untouched, unless `again`. Spark is
    started only for more than `without_spark` runs, for evidence that must be read again, and for a lake elsewhere.
    MachineError where the lake cannot be written."""
    with problems_named(store):
        before = present(store)
        found = survey(directories, _without_inputs(before) if again else before)
        to_do, done, refused = found.to_do, list[str](), list(found.refused)
        with ExitStack() as stack:
            write = _writer(store, to_do, without_spark, lambda: stack.enter_context(session()), note)
            for number in range(0, len(to_do), RUNS_AT_ONCE):
                part = to_do[number : number + RUNS_AT_ONCE]
                if len(to_do) > RUNS_AT_ONCE:
                    note(f"adding runs {number + 1} to {number + len(part)} of {len(to_do)}")
                entries, wrong = write(part)
                after = commit(store, _with(entries, again))
                done += [entry.run for entry in entries]
                refused += wrong
        if done and (len(done) > RUNS_AT_ONCE or after.number % KEPT == 0):
            delete_unused(store)  # it reads every kept manifest: not after every single run
    return Added(
        added=tuple(run for run in done if run not in before.runs),
        changed=tuple(run for run in done if run in before.runs),
        same=found.same,
        refused=tuple(refused),
    )


def put_followed(store: Store, candidate: Candidate, spark: Callable[[], SparkSession]) -> bool:
    """Bring in the present state of a run that goes on, in place of its last one. False where the run has been added by
    itself meanwhile: then the lake stays as it is."""
    with problems_named(store):
        there = present(store).runs.get(candidate.run)
        if there is not None and not there.inputs.startswith(FOLLOWED):
            return False
        what = read([candidate], spark, lambda _: None)
        if isinstance(store, LocalStore):
            entries, wrong = write_at_once(store, what)
        else:
            entries, wrong = write_with_spark(spark(), store, what)
        for refusal in (*what.refused, *wrong):
            raise MeasurementError(refusal.text, hint="brokerlab lake follow tries again")

        def change(manifest: Manifest) -> dict[str, Entry]:
            there = manifest.runs.get(candidate.run)
            if there is not None and not there.inputs.startswith(FOLLOWED):
                return dict(manifest.runs)
            return {**manifest.runs, **{entry.run: entry for entry in entries}}

        after = commit(store, change)
        if after.number % KEPT == 0:
            delete_unused(store)
        return after.runs[candidate.run].inputs == candidate.inputs


def _writer(
    store: Store, to_do: Sequence[Candidate], without_spark: int, start: Callable[[], SparkSession], note: Callable[[str], None]
) -> Callable[[Sequence[Candidate]], tuple[list[Entry], list[Refusal]]]:  # fmt: skip
    """What writes a batch aside: with Spark, started once, or without."""
    started: list[SparkSession] = []

    def spark() -> SparkSession:
        if not started:
            started.append(start())
        return started[0]

    def write(part: Sequence[Candidate]) -> tuple[list[Entry], list[Refusal]]:
        what = read(part, spark, note)
        if light and isinstance(store, LocalStore):
            entries, wrong = write_at_once(store, what)
        else:
            entries, wrong = write_with_spark(spark(), store, what)
        return entries, [*what.refused, *wrong]

    light = len(to_do) <= without_spark and isinstance(store, LocalStore) and is_current(to_do)
    return write


def delete_unused(store: Store) -> int:
    """Delete what no kept manifest names: replaced rows, and batches that were never committed and are a day old.
    Returns the number of files."""
    manifests = kept(store)
    named = {f.path for m in manifests for entry in m.runs.values() for of in entry.tables.values() for f in of}
    committed = {entry.batch for m in manifests for entry in m.runs.values()}
    deadline = (datetime.now(UTC) - ABANDONED_AFTER).strftime(TIME)
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
