"""The tables that charts draw, of one execution while it goes: kept current from closed segments and live lines, without
Spark. Columns are those of the result tables of the same names, so that the report's charts draw both."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute  # pyarrow would import it when it is first needed: that is while a page waits

from brokerlab.dashboard.many_histograms import Int64s, ManyHistograms, split
from brokerlab.dashboard.segments import NewLines, NewSegments
from brokerlab.dashboard.versions import Row, VersionedRows
from brokerlab.evidence.tables import ACTIVITY, EVENT, INTERVAL, READING
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.metrics import FROM_SCHEDULE, MEASURES
from brokerlab.model.phases import MEASURE
from brokerlab.results.directory import RunDirectory

Counted = tuple[int, int, float]  # at_mono_ns, second_unix_s, value of a counter
COUNTS = ("sent", "acknowledged", "rejected", "unknown", "received", "corrupted", "unexpected", "bytes", "buffer_full")
LEVELS = ("behind", "in_flight", "cpu_user_ns", "cpu_system_ns", "elapsed_ns", "longest_pause_ns")
# name -> (columns that name a row, columns with its values)
TABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "rate_per_second": (("role", "group", "second_unix_s"), ("phase", "sent", "acknowledged", "received")),
    "latency_per_second": (("measure", "group", "second_unix_s"), ("count", "p50_ns", "p99_ns")),
    "latency_heat": (("measure", "group", "second_unix_s", "band"), ("lower_ns", "upper_ns", "count")),
    "reading_per_second": (("subject", "metric", "second_unix_s"), ("value",)),
    "agent_health": (("agent",), ("role",)),
    "event": (("number",), ("second_unix_s", "source", "kind", "detail")),
}


class LiveTables(VersionedRows):
    """`every_reading`: also those that no chart of a load draws. `outward`: see FollowedRun. Call `poll` now and then; `changes` and `whole` say what there is. Not for several threads at once."""

    def __init__(
        self,
        directory: RunDirectory,
        execution: ExecutionId,
        *,
        every_reading: bool = False,
        outward: Callable[[str], str] = str,
    ) -> None:
        super().__init__(TABLES, in_groups=("latency_heat",))
        evidence = directory.evidence(execution)
        self._every_reading = every_reading
        self._outward = outward
        self._activity = NewSegments(evidence, ACTIVITY, ("agent", "role", "group", "second_unix_s", "phase", *COUNTS, *LEVELS))  # fmt: skip
        histograms = [f"{m}_{part}" for m in MEASURES for part in ("bucket", "count")]
        self._interval = NewSegments(evidence, INTERVAL, ("role", "group", "second_unix_s", "phase", "negative", *histograms))  # fmt: skip
        self._reading = NewSegments(directory.probes(execution), READING, ("at_mono_ns", "second_unix_s", "subject", "metric", "value"))  # fmt: skip
        self._event = NewSegments(directory.events(execution), EVENT, ("source", "kind", "at_mono_ns", "detail"))
        self._lines = NewLines(directory.live_lines(execution))
        self.agents: dict[tuple[str, int], Row] = {}  # (agent, second) -> its activity row, closed segments only
        self.ahead: dict[tuple[str, int], Row] = {}  # the same of live lines that no segment covers yet
        self.latest: dict[str, Row] = {}  # agent -> its latest live line
        self.totals = dict.fromkeys(COUNTS, 0)  # of all agents and seconds, live lines included
        self.phases: dict[
            tuple[str, str], tuple[Int64s, Int64s]
        ] = {}  # (measure, group) -> histogram of the measure phase
        self.negative: dict[tuple[str, str], int] = {}
        self._members: dict[tuple[str, str], dict[str, None]] = {}  # (role, group) -> agents
        self._seconds: dict[tuple[str, str, int], tuple[Int64s, Int64s]] = {}
        self._counters: dict[tuple[str, str], list[Counted]] = {}
        self._means: dict[tuple[str, str, int], tuple[float, int]] = {}
        self.unix_minus_mono_ns = 0
        self.polled_mono_s = 0.0

    @property
    def unreadable(self) -> int:
        return sum(s.unreadable for s in (self._activity, self._interval, self._reading, self._event))

    def poll(self) -> bool:
        """Read what is new; whether anything was."""
        before = self.version
        with self.one_version():
            for rows in _together(self._activity):
                self._take_activity(rows)
            for line in self._lines.read():
                self._take_line(line)
            for rows in _together(self._interval):
                self._take_intervals(rows)
            for rows in _together(self._reading):
                self._take_readings(rows)
            for rows in _together(self._event):
                self._take_events(rows)
        return self.version != before

    def _take_activity(self, rows: pa.Table) -> None:
        for row in rows.to_pylist():
            key = (row["agent"], row["second_unix_s"])
            self._count(row, self.ahead.pop(key, None))
            known = self.agents.get(key)
            if known is not None:  # a second that was cut in two
                row = {**row, **{name: known[name] + row[name] for name in COUNTS}}
            self.agents[key] = row
            self.put("agent_health", (row["agent"],), (row["role"],))
            self._sum_rate(row)

    def _take_line(self, line: Mapping[str, Any]) -> None:
        try:
            row = {"agent": line["agent"], "role": line["role"], "group": line["group"], "phase": line["phase"],
                   "second_unix_s": int(line["second"]), **{name: int(line.get(name, 0)) for name in COUNTS}}  # fmt: skip
        except (KeyError, TypeError, ValueError):
            return
        self.latest[row["agent"]] = dict(line)
        key = (row["agent"], row["second_unix_s"])
        self.put("agent_health", (row["agent"],), (row["role"],))
        if key not in self.agents:
            self._count(row, self.ahead.get(key))
            self.ahead[key] = row
            self._sum_rate(row)

    def _count(self, row: Row, replaced: Row | None) -> None:
        for name in COUNTS:
            self.totals[name] += row[name] - (0 if replaced is None else replaced[name])

    def _sum_rate(self, row: Row) -> None:
        """The sum over the agents of this role and group, in the second of `row`."""
        second = row["second_unix_s"]
        members = self._members.setdefault((row["role"], row["group"]), {})
        members[row["agent"]] = None
        others = (self.agents.get((a, second)) or self.ahead.get((a, second)) for a in members if a != row["agent"])
        same = [row, *(r for r in others if r is not None)]
        sums = [sum(r[name] for r in same) for name in ("sent", "acknowledged", "received")]
        self.put("rate_per_second", (row["role"], row["group"], second), (row["phase"], *sums))

    def _take_intervals(self, rows: pa.Table) -> None:
        roles, groups, phases = (rows[name].to_pylist() for name in ("role", "group", "phase"))
        seconds, negative = rows["second_unix_s"].to_pylist(), rows["negative"].to_pylist()
        for i, count in enumerate(negative):
            if count and phases[i] == MEASURE:
                key = ("publish_latency" if roles[i] == "producer" else "end_to_end_latency", groups[i])
                self.negative[key] = self.negative.get(key, 0) + count
        for measure in MEASURES:
            of_row, buckets, counts = _flat(rows[f"{measure}_bucket"], rows[f"{measure}_count"])
            for group in {groups[i] for i in np.unique(of_row)}:
                measured = np.array([g == group and p == MEASURE for g, p in zip(groups, phases, strict=True)])[of_row]
                if measured.any():
                    known = self.phases.get((measure, group))
                    self.phases[measure, group] = _merged(known, buckets[measured], counts[measured])
            if len(of_row) and measure in FROM_SCHEDULE:
                keys = [(measure, g, s) for g, s in zip(groups, seconds, strict=True)]
                self._add_seconds(keys, of_row, buckets, counts)

    def _add_seconds(self, keys: list[tuple[str, str, int]], of_row: Int64s, buckets: Int64s, counts: Int64s) -> None:
        """`keys` are those of rows; rows of one key, and what is known of it already, are one histogram."""
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys[row] for row in np.unique(of_row)))}
        number_of_row = np.array([numbers.get(key, -1) for key in keys])
        parts = [(number_of_row[of_row], buckets, counts)]
        for key in numbers.keys() & self._seconds.keys():
            known = self._seconds[key]
            parts.append((np.full(len(known[0]), numbers[key]), *known))
        merged = ManyHistograms.merged(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        self._seconds.update(zip(numbers, merged.each(), strict=True))
        totals, p50, p99 = (column.tolist() for column in (merged.totals(), *map(merged.quantiles_ns, (0.5, 0.99))))
        for key, values in zip(numbers, zip(totals, p50, p99, strict=True), strict=True):
            self.put("latency_per_second", key, values)
        of, *bands = merged.bands()
        begins = np.flatnonzero(np.diff(of, prepend=-1))
        for key, group in zip(numbers, split(np.stack(bands), begins), strict=True):
            self.put_group("latency_heat", key, group)

    def _take_readings(self, rows: pa.Table) -> None:
        for at, second, subject, metric, value in zip(*(c.to_pylist() for c in rows.columns), strict=True):
            if not (self._every_reading or is_drawn(subject, metric)) or not math.isfinite(value):
                continue
            if not metric.endswith("_total"):
                self._add_reading(subject, metric, second, value)
                continue
            series = self._counters.setdefault((subject, metric), [])
            if series and at <= series[-1][0]:  # segments came in another order than they were written
                bisect.insort(series, (at, second, value))
                self._count_again(subject, metric, series)
            else:
                series.append((at, second, value))
                self._add_increase(subject, metric, series[-2:])

    def _add_reading(self, subject: str, metric: str, second: int, value: float) -> None:
        total, n = self._means.get((subject, metric, second), (0.0, 0))
        self._means[subject, metric, second] = (total + value, n + 1)
        self.put("reading_per_second", (subject, metric, second), ((total + value) / (n + 1),))

    def _add_increase(self, subject: str, metric: str, steps: list[Counted]) -> None:
        """Of a counter, as a rate. One that falls has been restarted: that step is left out."""
        if len(steps) == 2 and steps[1][0] > steps[0][0] and steps[1][2] >= steps[0][2]:
            rate = (steps[1][2] - steps[0][2]) / ((steps[1][0] - steps[0][0]) / 1e9)
            self._add_reading(subject, metric.removesuffix("_total") + "_per_s", steps[1][1], rate)

    def _count_again(self, subject: str, metric: str, series: list[Counted]) -> None:
        name = metric.removesuffix("_total") + "_per_s"
        for _, second, _ in series:
            self._means.pop((subject, name, second), None)
        for steps in pairwise(series):
            self._add_increase(subject, metric, list(steps))

    def _take_events(self, rows: pa.Table) -> None:
        for row in rows.to_pylist():
            second = (row["at_mono_ns"] + self.unix_minus_mono_ns) // 1_000_000_000
            detail = self._outward(row["detail"])
            self.put("event", (row["at_mono_ns"],), (second, row["source"], row["kind"], detail))


def _together(segments: NewSegments) -> list[pa.Table]:
    """What is new as one table: a history has thousands of small segments. Those of unlike versions stay apart."""
    found = list(segments.read())
    try:
        return [pa.concat_tables(found)] if found else []
    except pa.ArrowInvalid:
        return found


def is_drawn(subject: str, metric: str) -> bool:
    """Which readings charts draw; a broker may have hundreds."""
    if subject == "host":
        return metric.startswith(("cpu_", "disk_write")) or "write_bytes" in metric
    return metric.startswith("cpu_") or "write_bytes" in metric


def _flat(buckets: pa.ChunkedArray, counts: pa.ChunkedArray) -> tuple[Int64s, Int64s, Int64s]:
    """Two columns of lists as three arrays: the row of each bucket, the bucket, its count."""
    lists = buckets.combine_chunks()
    of_row = np.repeat(np.arange(len(lists)), np.diff(_numbers(lists.offsets)))
    return of_row, _numbers(lists.flatten()), _numbers(counts.combine_chunks().flatten())


def _numbers(values: pa.Array) -> Int64s:
    """Of integers without nulls. pyarrow's to_numpy would import pandas: half a second when a page is opened for the first time."""
    end = values.offset + len(values)
    if not end:
        return np.empty(0, np.int64)
    numbers = np.frombuffer(values.buffers()[1], values.type.to_pandas_dtype(), end)
    return numbers[values.offset :].astype(np.int64)


def _merged(known: tuple[Int64s, Int64s] | None, buckets: Int64s, counts: Int64s) -> tuple[Int64s, Int64s]:
    if known is not None:
        buckets, counts = np.concatenate([known[0], buckets]), np.concatenate([known[1], counts])
    whole = ManyHistograms.merged(np.zeros_like(buckets), buckets, counts)
    return whole.buckets, whole.counts
