"""Was an execution disturbed from outside? The limits the verdict goes by, and the same question asked of one execution
as soon as it has ended, from its evidence and readings as they lie on disk: the runner may then run it again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brokerlab.evidence.segments import rows
from brokerlab.evidence.tables import INTERVAL, READING
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.histogram import quantile_ns
from brokerlab.model.plan import Phase
from brokerlab.results.directory import RunDirectory

SEND_DELAY_SHARE_LIMIT = 0.10
# Lateness up to 1 ms is the grain of a scheduler whose cores the broker shares: said with its number, not held against
# the run, whatever share of a short latency it is.
SEND_DELAY_FLOOR_NS = 1_000_000
NOISE_LIMIT_CORES = 0.20  # mean of the measure phase
NOISE_METRICS = {"cpu_steal_cores": "taken by the hypervisor", "cpu_foreign_cores": "used by other programs"}
# In a single second: when a processor is away for 50 ms every message of these 50 ms may be late, 5 % of the second's.
# What other programs used is what is left when ours are taken off, and wrong by some 0.05 itself.
NOISE_OF_A_SECOND_CORES = {"cpu_steal_cores": 0.05, "cpu_foreign_cores": 0.10}


def is_late(send_delay_p99_ns: int, latency_p99_ns: int) -> bool:
    """Whether our own lateness makes a latency unbelievable."""
    return send_delay_p99_ns > max(SEND_DELAY_FLOOR_NS, latency_p99_ns * SEND_DELAY_SHARE_LIMIT)


@dataclass(frozen=True)
class Noise:
    """What others took of the processors in one second. A reading tells of the second before it, and is not taken on
    the second: it counts for the seconds beside its own too."""

    second_unix_s: int
    metric: str
    cores: float

    def __str__(self) -> str:
        at = time.strftime("%H:%M:%S", time.gmtime(self.second_unix_s))
        return f"{self.cores:.2f} cores were {NOISE_METRICS[self.metric]} at {at} UTC"


def disturbance(directory: RunDirectory, execution: ExecutionId, *, is_closed: bool) -> str | None:
    """What disturbed this execution from outside, in words; None where nothing did, or not so that it matters.

    It matters where others took more than the limit in the mean; and in an open loop where we were late, and would not
    have been without the seconds in which they had the processors. Raises OSError where evidence cannot be read.
    """
    measured = [r for r in rows(directory.evidence(execution), INTERVAL) if r["phase"] == Phase.MEASURE.value]
    if not measured:
        return None
    seconds = {r["second_unix_s"] for r in measured}
    # Only readings of measured seconds: in the one after them the producers end, and what they used last is nobody's.
    noise = [n for n in _noise(directory.probes(execution)) if n.second_unix_s in seconds]
    for metric, what in NOISE_METRICS.items():
        taken = [n.cores for n in noise if n.metric == metric]
        if taken and (mean := sum(taken) / len(taken)) > NOISE_LIMIT_CORES:
            return f"{mean:.2f} cores were {what} (mean of the measure phase; limit {NOISE_LIMIT_CORES})"
    if is_closed or not _late(measured):
        return None
    loud = [n for n in noise if n.cores > NOISE_OF_A_SECOND_CORES[n.metric]]
    heard = {n.second_unix_s + i for n in loud for i in (-1, 0, 1)}
    if not loud or _late([r for r in measured if r["second_unix_s"] not in heard]):
        return None
    delay_ns = _p99_ns(measured, "send_delay")
    return f"{max(loud, key=lambda n: n.cores)}, and messages were sent late (p99 {delay_ns / 1e6:.1f} ms)"


def _late(measured: list[dict[str, Any]]) -> bool:
    """By the latencies of each group, as the verdict is; where nobody received, by publishing."""
    groups = {r["group"] for r in measured if r["role"] == "consumer"}
    received = [_p99_ns([r for r in measured if r["group"] == g], "end_to_end_latency") for g in groups]
    latency_ns = max(received, default=0) or _p99_ns(measured, "publish_latency")
    return is_late(_p99_ns(measured, "send_delay"), latency_ns)


def _p99_ns(measured: Sequence[Mapping[str, Any]], measure: str) -> int:
    buckets = [np.asarray(r[f"{measure}_bucket"], np.int32) for r in measured]
    counts = [np.asarray(r[f"{measure}_count"], np.int64) for r in measured]
    if not buckets:
        return 0
    which, place = np.unique(np.concatenate(buckets), return_inverse=True)
    merged = np.bincount(place, np.concatenate(counts), len(which)).astype(np.int64)
    return quantile_ns(which, merged, 0.99)


def _noise(probes: Path) -> list[Noise]:
    return [
        Noise(r["second_unix_s"], r["metric"], r["value"])
        for r in rows(probes, READING)
        if r["subject"] == "host" and r["metric"] in NOISE_METRICS
    ]
