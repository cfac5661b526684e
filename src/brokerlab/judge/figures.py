"""The figures of each execution: a handful of numbers, so plain Python, not Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.metrics import COUNTS
from brokerlab.model.plan import Phase
from brokerlab.model.quantiles import SUMMARY_QUANTILES
from brokerlab.results.tables import NO_GROUP, OF_SENDS

Row = Mapping[str, Any]
Figures = dict[tuple[str, str], dict[int, float]]  # (cell, metric) -> repeat -> value


def measured_bounds(rates: Iterable[Row]) -> dict[ExecutionId, tuple[int, int]]:
    """First and last whole second of the measure phase; see pipeline.rates.measured_seconds."""
    labelled: dict[ExecutionId, list[int]] = defaultdict(list)
    for row in rates:
        if row["phase"] == Phase.MEASURE.value:
            labelled[ExecutionId.of(row)].append(row["second_unix_s"])
    return {key: (min(s), max(min(s), max(s) - 1)) for key, s in labelled.items()}


def throughput(rates: list[Row]) -> Figures:
    """Count / measured length, all agents and groups together, over the whole seconds of the measure phase.

    backlog_received_per_s counts from the first to the last second of the drain in which anything arrived.
    """
    bounds = measured_bounds(rates)
    sums: Figures = defaultdict(lambda: defaultdict(float))
    drained: dict[tuple[str, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in rates:
        cell, repeat, second = row["cell"], row["repeat"], row["second_unix_s"]
        side = "sent" if row["role"] == "producer" else "received"
        if row["phase"] == Phase.DRAIN.value and row["received"]:
            drained[cell, repeat][second] += row["received"]
        first, last = bounds.get(ExecutionId.of(row), (0, -1))
        if first <= second <= last:
            sums[cell, f"{side}_per_s"][repeat] += row[side]
            sums[cell, f"{side}_bytes_per_s"][repeat] += row["bytes"]
    for (cell, _), values in sums.items():
        for repeat in values:
            first, last = bounds[ExecutionId(cell=cell, repeat=repeat)]
            values[repeat] /= last - first + 1
    for (cell, repeat), per_second in drained.items():
        if len(per_second) > 1:
            length_s = max(per_second) - min(per_second) + 1
            sums[cell, "backlog_received_per_s"][repeat] = sum(per_second.values()) / length_s
    return {key: dict(values) for key, values in sums.items()}


def latencies(per_phase: list[Row]) -> Figures:
    """<measure>_<quantile> of the measure phase; the worst group where there are several."""
    found: Figures = defaultdict(dict)
    for row in per_phase:
        if row["phase"] != Phase.MEASURE.value or row["repeat"] == 0 or row["count"] == 0:
            continue
        for quantile in SUMMARY_QUANTILES:
            values = found[row["cell"], f"{row['measure']}_{quantile}"]
            values[row["repeat"]] = max(values.get(row["repeat"], 0.0), float(row[quantile]))
    return dict(found)


def counts(delivery: list[Row]) -> Figures:
    """Delivery counts: those of sends once per repeat, those of deliveries added over groups. `lost` after a drain only,
    and nothing about deliveries where a cell has no consumers."""
    found: Figures = defaultdict(lambda: defaultdict(float))
    for row in delivery:
        for name in COUNTS:
            if not is_said(name, row):
                continue
            values = found[row["cell"], name]
            if name in OF_SENDS:
                values[row["repeat"]] = float(row[name])
            else:
                values[row["repeat"]] += row[name]
    return {key: dict(values) for key, values in found.items()}


def is_said(name: str, row: Row) -> bool:
    """Whether a count of a row of `delivery` is a statement: a zero may also mean that nothing looked."""
    return name in OF_SENDS or (row["group"] != NO_GROUP and (name != "lost" or row["drained"]))


def figures(rates: list[Row], per_phase: list[Row], delivery: list[Row], agents: list[Row]) -> Figures:
    """Everything run_summary shows, by cell, metric and repeat."""
    cpu: Figures = defaultdict(lambda: defaultdict(float))
    for row in agents:
        cpu[row["cell"], "agent_cpu_cores"][row["repeat"]] += row["cpu_cores_mean"]
    return {**throughput(rates), **latencies(per_phase), **counts(delivery), **{k: dict(v) for k, v in cpu.items()}}
