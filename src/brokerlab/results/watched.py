"""What was read of each series of a watched run: one row per subject and metric, from the readings themselves."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.evidence.segments import UnreadableSegment, rows, segments
from brokerlab.evidence.tables import EVENT, READING
from brokerlab.model.arrow import arrow_schema, as_declared
from brokerlab.model.events import Event, event_of
from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.directory import RunDirectory


@dataclass(frozen=True)
class SeriesRow:
    """Of one series. `increase` is what a counter grew by, restarts left out; None for a gauge."""

    subject: str
    metric: str
    unit: str
    readings: int
    first_unix_s: int
    last_unix_s: int
    last: float
    least: float
    mean: float
    most: float
    increase: float | None

    @property
    def per_s(self) -> float | None:
        """A counter's increase / the time from its first reading to its last."""
        length_s = self.last_unix_s - self.first_unix_s
        return None if self.increase is None or length_s <= 0 else self.increase / length_s


def read_readings(run: RunDirectory) -> tuple[pa.Table, list[UnreadableSegment]]:
    """All rows of `reading`, and the segments that cannot be read."""
    readable, unreadable = segments(run.path, READING)
    parts = [as_declared(pq.ParquetFile(segment.path).read(), READING) for segment in readable]
    return (pa.concat_tables(parts) if parts else arrow_schema(READING).empty_table()), unreadable


def read_changes(run: RunDirectory) -> list[tuple[int, Event]]:
    """What happened to targets, in order: UNIX nanoseconds and the event."""
    clock = run.environment().clock.start
    (execution,) = run.plan().order or (ExecutionId(cell="watch", repeat=1),)
    shift = 0 if clock is None else clock.unix_minus_mono_ns
    found = [(row["at_mono_ns"] + shift, event_of(row)) for row in rows(run.events(execution), EVENT)]
    return sorted(found, key=lambda pair: pair[0])


def series_rows(readings: pa.Table) -> list[SeriesRow]:
    """In the order of subject and metric."""
    along = readings.sort_by([(name, "ascending") for name in ("subject", "metric", "unit", "at_mono_ns")])
    if not len(along):
        return []
    columns = {name: along[name].to_pylist() for name in ("subject", "metric", "unit", "second_unix_s")}
    values = along["value"].to_numpy()
    keys = list(zip(columns["subject"], columns["metric"], columns["unit"], strict=True))
    begins = [0, *(i for i in range(1, len(keys)) if keys[i] != keys[i - 1]), len(keys)]
    found = []
    for begin, end in pairwise(begins):
        subject, metric, unit = keys[begin]
        of_series = values[begin:end]
        steps = np.diff(of_series)
        found.append(
            SeriesRow(
                subject, metric, unit, end - begin,
                columns["second_unix_s"][begin], columns["second_unix_s"][end - 1],
                float(of_series[-1]), float(of_series.min()), float(of_series.mean()), float(of_series.max()),
                float(steps[steps > 0].sum()) if metric.endswith("_total") else None,
            )
        )  # fmt: skip
    return found
