"""Single messages of a known run: a row per send and per delivery that agree with its ranges of numbers, and the histograms
of their latencies by second. Times come from a pool, so that the true quantiles are known exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.known_run import START_MONO_NS
from brokerlab.model.histogram import BUCKETS, bucket_of

Int64s = npt.NDArray[np.int64]
POOL = 1 << 20
NS = 1_000_000_000
MEASURE_OF = {"send": "publish_latency", "delivery": "end_to_end_latency"}


@dataclass
class Messages:
    """Makes rows of `message`, and remembers which of the pool's latencies were used how often."""

    rate_of_lane_per_s: float
    rng: np.random.Generator
    used: dict[str, Int64s] = field(default_factory=dict)  # by kind

    def __post_init__(self) -> None:
        self.pool_ns: Int64s = (1e6 * self.rng.lognormal(0, 0.5, POOL)).astype(np.int64)
        self.bucket_of_pool = bucket_of(self.pool_ns).astype(np.int64)

    def rows(self, kind: str, group: str, partition: Int64s, sequence: Int64s) -> tuple[dict[str, Any], Int64s]:
        """Columns of messages with these numbers, and the place in the pool of each one's latency."""
        place = (sequence * 7919 + partition * 104_729 + (kind == "send")) & (POOL - 1)
        counts = np.bincount(place, minlength=POOL)
        self.used[kind] = self.used[kind] + counts if kind in self.used else counts
        scheduled = START_MONO_NS + (sequence / self.rate_of_lane_per_s * NS).astype(np.int64)
        columns = {
            "kind": kind, "group": group, "producer": 0, "partition": partition, "sequence": sequence,
            "scheduled_mono_ns": scheduled, "at_mono_ns": scheduled + self.pool_ns[place],
            "outcome": "acknowledged" if kind == "send" else "received", "ordinal": np.arange(len(sequence)),
        }  # fmt: skip
        return columns, place

    def histograms(self, kind: str, scheduled_mono_ns: Int64s, place: Int64s, seconds: range) -> dict[str, list[Any]]:
        """Columns of `interval` for these seconds of the run, one row each."""
        second = np.clip((scheduled_mono_ns - START_MONO_NS) // NS, seconds.start, seconds.stop - 1) - seconds.start
        code = second * BUCKETS + self.bucket_of_pool[place]
        counts = np.bincount(code, minlength=len(seconds) * BUCKETS).reshape(len(seconds), BUCKETS)
        latency = self.pool_ns[place]
        sums = np.bincount(second, latency, minlength=len(seconds)).astype(np.int64)
        buckets = [np.flatnonzero(row) for row in counts]
        least, most = (int(latency.min()), int(latency.max())) if len(latency) else (0, 0)
        measure = MEASURE_OF[kind]
        return {
            f"{measure}_bucket": [b.tolist() for b in buckets],
            f"{measure}_count": [row[b].tolist() for row, b in zip(counts, buckets, strict=True)],
            f"{measure}_min_ns": [least] * len(seconds), f"{measure}_max_ns": [most] * len(seconds),
            f"{measure}_sum_ns": sums.tolist(),
        }  # fmt: skip

    def true_quantile_ns(self, kind: str, q: float) -> int:
        order = np.argsort(self.pool_ns)
        up_to = np.cumsum(self.used[kind][order])
        rank = max(1, int(np.ceil(q * up_to[-1] - 1e-9)))
        return int(self.pool_ns[order][np.searchsorted(up_to, rank)])


def numbers_of_runs(runs: Mapping[str, Int64s]) -> tuple[Int64s, Int64s]:
    """(partition, sequence) of every message in runs (partition, first, last), in their order."""
    length = runs["last"] - runs["first"] + 1
    owner = np.repeat(np.arange(len(length)), length)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
    return runs["partition"][owner], runs["first"][owner] + within
