"""Figures of how the rate went, second by second, in the measure phase of each execution."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from brokerlab.model.execution_id import ExecutionId

Row = Mapping[str, Any]
Figures = dict[tuple[str, str], dict[int, float]]
Bounds = Mapping[ExecutionId, tuple[int, int]]  # first and last whole second of the measure phase


def course(rates: list[Row], bounds: Bounds) -> Figures:
    """Largest second, variation and received / sent. A second without rows is one with no messages."""
    found: Figures = defaultdict(dict)
    within: dict[ExecutionId, list[Row]] = defaultdict(list)
    for row in rates:
        execution = ExecutionId.of(row)
        first, last = bounds.get(execution, (0, -1))
        if first <= row["second_unix_s"] <= last:
            within[execution].append(row)
    for execution, mine in within.items():
        first, last = bounds[execution]
        sums = {}
        for role, side in (("producer", "sent"), ("consumer", "received")):
            of_role = [r for r in mine if r["role"] == role]
            if not of_role:
                continue
            seconds = dict.fromkeys(range(first, last + 1), 0)
            for row in of_role:
                seconds[row["second_unix_s"]] += row[side]
            sums[side] = sum(seconds.values())
            found[execution.cell, f"{side}_peak_per_s"][execution.repeat] = float(max(seconds.values()))
            if len(seconds) > 1 and sums[side]:
                found[execution.cell, f"{side}_variation"][execution.repeat] = _variation(list(seconds.values()))
        groups = len({r["group"] for r in mine if r["role"] == "consumer"})
        if groups and sums.get("sent"):
            share = sums["received"] / (sums["sent"] * groups)
            found[execution.cell, "received_per_sent"][execution.repeat] = share
    return dict(found)


def _variation(counts: list[int]) -> float:
    """Sample standard deviation / mean. (`statistics.stdev` takes fractions of whole numbers: a hundred times as long.)"""
    mean = sum(counts) / len(counts)
    return math.sqrt(sum((n - mean) ** 2 for n in counts) / (len(counts) - 1)) / mean


def taken_in(readings: list[Row], bounds: Bounds) -> Figures:
    """broker_messages_in_per_s: the brokers' own counts, of all nodes, over the whole seconds of the measure phase.

    Only where every node that counts was read in at least nine of ten seconds.
    """
    found: Figures = defaultdict(dict)
    by_node: dict[tuple[ExecutionId, str], list[float]] = defaultdict(list)
    for row in readings:
        if row["metric"] == "messages_in_per_s" and row["subject"].startswith("broker:"):
            execution = ExecutionId.of(row)
            first, last = bounds.get(execution, (0, -1))
            if first <= row["second_unix_s"] <= last:
                by_node[execution, row["subject"]].append(row["value"])
    for execution in dict.fromkeys(e for e, _ in by_node):
        first, last = bounds[execution]
        nodes = [values for (e, _), values in by_node.items() if e == execution]
        if all(len(values) >= 0.9 * (last - first + 1) for values in nodes):
            found[execution.cell, "broker_messages_in_per_s"][execution.repeat] = sum(map(statistics.fmean, nodes))
    return dict(found)
