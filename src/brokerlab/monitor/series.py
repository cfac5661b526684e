"""The series that exporters give out: readings as they are, load added up over the run, latencies as buckets.

Taken from the rows of closed segments, so a few seconds behind; nothing is asked of agents or probes for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.model.histogram import lower_bounds_ns, quantile_ns
from brokerlab.model.watched import WatchedMetric
from brokerlab.model.watched_here import HISTOGRAMS, LOAD
from brokerlab.monitor.table import row_of
from brokerlab.monitor.tail import News

STALE_S = 15.0  # a series without news for so long belongs to something that has gone
# Classic buckets, in seconds. OpenTelemetry's advice begins at 5 ms, which is above most latencies here.
BOUNDS_S = (
    50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0,
)  # fmt: skip
_COUNTED = {  # column of `activity` -> metric of LOAD, by role
    "producer": {
        "sent": "sent_messages_total",
        "acknowledged": "acknowledged_messages_total",
        "rejected": "rejected_messages_total",
        "unknown": "unknown_messages_total",
        "bytes": "sent_bytes_total",
    },
    "consumer": {
        "received": "received_messages_total",
        "corrupted": "corrupted_messages_total",
        "unexpected": "unexpected_messages_total",
        "bytes": "received_bytes_total",
    },
}
_LATEST = {"behind": "behind_messages", "in_flight": "in_flight_messages"}  # of `activity`, as it is now
QUANTILES = {"p50": 0.5, "p99": 0.99}  # what lines of Graphite say of a latency


@dataclass(frozen=True)
class Point:
    """One value of a series at one second. `name` is put behind the metric's: a quantile."""

    subject: str
    row: WatchedMetric
    value: float  # in the unit outside
    unix_s: int
    name: str = ""


@dataclass
class Buckets:
    """A histogram in seconds: counts of BOUNDS_S and of what is above them, not added up."""

    counts: npt.NDArray[np.int64]
    sum_s: float = 0.0


class Series:
    """Fed by one thread, read by others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._points: dict[tuple[str, str], tuple[Point, float]] = {}
        self._totals: dict[tuple[str, str], float] = {}
        self._now: dict[tuple[str, str], dict[str, int]] = {}  # by agent
        self._buckets: dict[tuple[str, str], Buckets] = {}

    def take(self, news: News) -> list[Point]:
        """Add the rows; returns the points that are new."""
        subject = f"load:{news.execution.cell}"
        with self._lock:
            if news.table == "reading":
                points = list(_readings(news.rows))
            elif news.table == "activity":
                points = list(self._activity(subject, news.rows))
            else:
                points = list(self._latencies(subject, news.rows))
            now = time.monotonic()
            for point in points:
                self._points[point.subject, point.row.metric + point.name] = point, now
        return points

    def points(self) -> list[Point]:
        """The latest of every series that is not a histogram. Counters of load stay; what else has no news is left out."""
        since = time.monotonic() - STALE_S
        with self._lock:
            found = list(self._points.values())
        return [p for p, at in found if not p.name and (at >= since or (p.row.scope == "load" and p.row.counter))]

    def histograms(self) -> list[tuple[str, WatchedMetric, Buckets]]:
        with self._lock:
            return [(s, LOAD[m], Buckets(b.counts.copy(), b.sum_s)) for (s, m), b in self._buckets.items()]

    def _activity(self, subject: str, rows: pa.Table) -> Iterator[Point]:
        second = int(pc.max(rows["second_unix_s"]).as_py() or 0) if len(rows) else 0
        for role, counted in _COUNTED.items():
            of_role = rows.filter(pc.equal(rows["role"], role))
            for column, metric in counted.items() if len(of_role) else ():
                key = subject, metric
                self._totals[key] = self._totals.get(key, 0.0) + float(pc.sum(of_role[column]).as_py())
                yield Point(subject, LOAD[metric], self._totals[key], second)
        senders = rows.filter(pc.and_(pc.equal(rows["role"], "producer"), pc.equal(rows["second_unix_s"], second)))
        for column, metric in _LATEST.items() if len(senders) else ():
            by_agent = self._now.setdefault((subject, metric), {})
            by_agent.update(zip(senders["agent"].to_pylist(), senders[column].to_pylist(), strict=True))
            yield Point(subject, LOAD[metric], float(sum(by_agent.values())), second)

    def _latencies(self, subject: str, rows: pa.Table) -> Iterator[Point]:
        if not len(rows):
            return
        redelivered = float(pc.sum(rows["redelivered"]).as_py())
        key = subject, "redelivered_messages_total"
        self._totals[key] = self._totals.get(key, 0.0) + redelivered
        second = int(pc.max(rows["second_unix_s"]).as_py())
        yield Point(subject, LOAD[key[1]], self._totals[key], second)
        for measure in HISTOGRAMS:
            buckets, counts = merged(rows[f"{measure}_bucket"], rows[f"{measure}_count"])
            if not len(buckets):
                continue
            found = self._buckets.setdefault((subject, measure), Buckets(np.zeros(len(BOUNDS_S) + 1, np.int64)))
            found.counts += in_bounds(buckets, counts)
            found.sum_s += float(pc.sum(rows[f"{measure}_sum_ns"]).as_py()) / 1e9
            for name, q in QUANTILES.items():
                yield Point(subject, LOAD[measure], quantile_ns(buckets, counts, q) / 1e9, second, f"_{name}")


def merged(buckets: pa.ChunkedArray, counts: pa.ChunkedArray) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """All histograms of a column as one: bucket numbers, ascending, and their counts."""
    numbers = pc.list_flatten(buckets).to_numpy()
    weights = pc.list_flatten(counts).to_numpy()
    unique, where = np.unique(numbers, return_inverse=True)
    summed = np.zeros(len(unique), np.int64)
    np.add.at(summed, where, weights)
    return unique.astype(np.int32), summed


def in_bounds(buckets: npt.NDArray[np.int32], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Counts by BOUNDS_S, each bucket by its lower end: at most 0.78 % of a value below it; what is above all comes last."""
    bounds_ns = np.array([round(b * 1e9) for b in BOUNDS_S])
    place = np.searchsorted(bounds_ns, lower_bounds_ns(buckets.astype(np.int64)), side="left")
    return np.bincount(place, weights=counts, minlength=len(BOUNDS_S) + 1).astype(np.int64)


def _readings(rows: pa.Table) -> Iterator[Point]:
    columns = (rows[name].to_pylist() for name in ("subject", "metric", "unit", "value", "second_unix_s"))
    for subject, metric, unit, value, second in zip(*columns, strict=True):
        row = row_of(subject, metric, unit)
        yield Point(subject, row, row.outside(value), second)
