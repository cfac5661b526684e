"""Tables and verdict of a run that only watched: readings aligned to seconds. Nothing is judged, because nothing was asked.

Small enough for one process: a day of a hundred series is nine million readings. So no Spark is started.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from brokerlab.model.arrow import arrow_schema
from brokerlab.model.events import Event, TargetBack, TargetGone
from brokerlab.model.phases import MEASURE
from brokerlab.pipeline.analyze import write_tables
from brokerlab.pipeline.readings import reading_per_second
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.results.tables import RATE_PER_SECOND, READING_PER_SECOND, STORED_TABLES
from brokerlab.results.verdict import Reason, Verdict
from brokerlab.results.watched import read_changes, read_readings


def analyze_watched(run_directory: Path) -> Verdict:
    """Make tables/ and verdict.json of the run, and return the verdict. The same evidence gives the same files."""
    run = RunDirectory(run_directory)
    plan = run.plan()
    readings, unreadable = read_readings(run)
    tables = {name: arrow_schema(table).empty_table() for name, table in STORED_TABLES.items()}
    tables[READING_PER_SECOND.name] = _per_second(readings, plan.run)
    write_tables(run, tables)
    seconds = readings["second_unix_s"].to_numpy()
    length_s = int(seconds.max() - seconds.min()) + 1 if len(seconds) else 0
    series = len(readings.group_by(["subject", "metric"]).aggregate([]))
    targets = ", ".join(target.words() for target in plan.targets)
    verdict = Verdict(
        run=plan.run,
        verdict="valid" if len(readings) else "cannot tell",
        complete=True,
        headline=f"Watched {targets} for {length_s:,} s: {len(readings):,} readings of {series:,} series; no load, so nothing is judged.",
        reasons=tuple(_reasons(read_changes(run))),
        delivery={},
        delivery_violated=False,
        objectives=(),
        cells=(),
        quarantined=tuple(str(s) for s in unreadable),
    )
    write_json(run.verdict_file, verdict.model_dump(mode="json"))
    return verdict


def _per_second(readings: pa.Table, run: str) -> pa.Table:
    nullable = pa.schema([field.with_nullable(True) for field in readings.schema])
    made = reading_per_second(readings.cast(nullable), arrow_schema(RATE_PER_SECOND.computed()).empty_table())
    n = len(made)
    columns = {name: made[name] for name in made.column_names} | {
        "run": pa.array([run] * n, pa.string()),
        "phase": pa.array([MEASURE] * n, pa.string()),
        "counted": pa.array([True] * n, pa.bool_()),
    }
    stored = STORED_TABLES[READING_PER_SECOND.name]
    along = [(name, "ascending") for name in ("subject", "metric", "second_unix_s")]
    return pa.table({name: columns[name] for name in stored.names()}).sort_by(along)


def _reasons(changes: list[tuple[int, Event]]) -> list[Reason]:
    """A note for every time that a target was away."""
    found = []
    for at_unix_ns, event in changes:
        at = f"{datetime.fromtimestamp(at_unix_ns / 1e9, UTC):%H:%M:%S} UTC"
        if isinstance(event, TargetGone):
            text = f"{event.target} went away at {at}: {event.why}"
        elif isinstance(event, TargetBack):
            text = f"{event.target} was back at {at}, after {event.after_s:.0f} s"
        else:
            continue
        found.append(
            Reason(code=event.kind, weight="note", cell="", repeat=None, text=text, cause="machine", affects=())
        )
    return found
