"""minute_rate: the one-minute rate that brokers publish, computed from our own counts, beside a plain minute.

The OneMinuteRate that JVM brokers publish is that of a Yammer meter: every 5 s the rate of these 5 s enters an
exponentially weighted mean with weight 1 - exp(-5/60). A meter that was there before the load starts from 0, and shows
63 % of a steady rate after a minute and 95 % after three.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerlab.model.execution_id import ExecutionId

Row = Mapping[str, Any]
Floats = npt.NDArray[np.float64]
TICK_S = 5
WEIGHT = 1 - math.exp(-TICK_S / 60)
MINUTE_S = 60
BROKERS_OWN = "messages_in_one_minute_rate"


def one_minute_rate(counts: npt.NDArray[np.int64]) -> Floats:
    """After each second the meter's rate, of counts by second since the first tick at which it was still 0."""
    rate = np.zeros(len(counts))
    now = 0.0
    for second in range(TICK_S - 1, len(counts), TICK_S):
        now += WEIGHT * (counts[second - TICK_S + 1 : second + 1].sum() / TICK_S - now)
        rate[second : second + TICK_S] = now
    return rate


def sliding_minute(counts: npt.NDArray[np.int64]) -> Floats:
    """After each second the mean rate of the last 60 s; not a number until there are so many."""
    rate = np.full(len(counts), np.nan)
    if len(counts) >= MINUTE_S:
        total = np.concatenate([[0], np.cumsum(counts)])
        rate[MINUTE_S - 1 :] = (total[MINUTE_S:] - total[:-MINUTE_S]) / MINUTE_S
    return rate


def minute_rate_rows(rates: list[Row], readings: list[Row]) -> list[dict[str, Any]]:
    """Rows of the table of that name; `rates` and `readings` are rate_per_second and reading_per_second."""
    counted: dict[tuple[ExecutionId, str], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    phases: dict[tuple[ExecutionId, int], str] = {}
    for row in rates:
        execution, series = ExecutionId.of(row), "sent" if row["role"] == "producer" else "received"
        counted[execution, series][row["second_unix_s"]] += row[series]
        phases[execution, row["second_unix_s"]] = row["phase"]
    published = _published(readings)
    rows = []
    for (execution, series), by_second in sorted(counted.items(), key=lambda item: (str(item[0][0]), item[0][1])):
        loaded = [s for s, n in by_second.items() if n]
        if not loaded:
            continue
        first = min(loaded)
        counts = np.array([by_second.get(s, 0) for s in range(first, max(by_second) + 1)], np.int64)
        for i, (weighted, plain) in enumerate(zip(one_minute_rate(counts), sliding_minute(counts), strict=True)):
            own = published.get((execution, first + i)) if series == "sent" else None
            rows.append(
                {
                    "cell": execution.cell, "repeat": execution.repeat, "second_unix_s": first + i,
                    "phase": phases.get((execution, first + i), ""), "series": series, "per_s": float(counts[i]),
                    "one_minute_per_s": float(weighted), "sliding_minute_per_s": None if np.isnan(plain) else float(plain),
                    "broker_one_minute_per_s": own,
                }
            )  # fmt: skip
    return rows


def _published(readings: list[Row]) -> dict[tuple[ExecutionId, int], float]:
    """The brokers' own rate by second, all nodes added; only seconds in which every node that has one was read."""
    found: dict[tuple[ExecutionId, int], dict[str, float]] = defaultdict(dict)
    nodes: dict[ExecutionId, set[str]] = defaultdict(set)
    for row in readings:
        if row["metric"] == BROKERS_OWN:
            execution = ExecutionId.of(row)
            found[execution, row["second_unix_s"]][row["subject"]] = row["value"]
            nodes[execution].add(row["subject"])
    return {key: sum(of.values()) for key, of in found.items() if set(of) == nodes[key[0]]}
