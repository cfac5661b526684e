"""run_summary: a handful of numbers per repeat, so plain Python and numpy, not Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from brokerlab.judge.statistics import median_interval
from brokerlab.model.environment import Environment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import Phase, RunPlan
from brokerlab.model.state import RunState
from brokerlab.results.tables import NO_GROUP, OF_SENDS

Row = Mapping[str, Any]
Figures = dict[tuple[str, str], dict[int, float]]  # (cell, metric) -> repeat -> value

UNITS = {"sent_per_s": "1/s", "received_per_s": "1/s", "sent_bytes_per_s": "B/s", "received_bytes_per_s": "B/s",
         "backlog_received_per_s": "1/s", "agent_cpu_cores": "cores"}  # fmt: skip
COUNTS = ("lost", "duplicated", "reordered", "corrupted", "unexpected", "rejected", "unknown")
SHOWN_QUANTILES = ("p50_ns", "p99_ns", "p999_ns")


def measured_bounds(rates: Iterable[Row]) -> dict[tuple[str, int], tuple[int, int]]:
    """First and last whole second of the measure phase by (cell, repeat); see rates.measured_seconds."""
    labelled: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in rates:
        if row["phase"] == Phase.MEASURE.value:
            labelled[row["cell"], row["repeat"]].append(row["second_unix_s"])
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
        first, last = bounds.get((cell, repeat), (0, -1))
        if first <= second <= last:
            sums[cell, f"{side}_per_s"][repeat] += row[side]
            sums[cell, f"{side}_bytes_per_s"][repeat] += row["bytes"]
    for (cell, _), values in sums.items():
        for repeat in values:
            first, last = bounds[cell, repeat]
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
        for quantile in SHOWN_QUANTILES:
            values = found[row["cell"], f"{row['measure']}_{quantile}"]
            values[row["repeat"]] = max(values.get(row["repeat"], 0.0), float(row[quantile]))
    return dict(found)


def counts(delivery: list[Row]) -> Figures:
    """Delivery counts: those of sends once per repeat, those of deliveries added over groups. `lost` after a drain only,
    and nothing about deliveries where nobody was to receive."""
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
    """Whether a count of a row of `delivery` is a statement: a zero may also mean that nobody looked."""
    return name in OF_SENDS or (row["group"] != NO_GROUP and (name != "lost" or row["drained"]))


def figures(rates: list[Row], per_phase: list[Row], delivery: list[Row], agents: list[Row]) -> Figures:
    """Everything run_summary shows, by cell, metric and repeat."""
    cpu: Figures = defaultdict(lambda: defaultdict(float))
    for row in agents:
        cpu[row["cell"], "agent_cpu_cores"][row["repeat"]] += row["cpu_cores_mean"]
    return {**throughput(rates), **latencies(per_phase), **counts(delivery), **{k: dict(v) for k, v in cpu.items()}}


def only_finished(figures: Figures, state: RunState) -> Figures:
    """The values of finished repeats; a cell in which none finished keeps what it has."""

    def finished(cell: str, repeat: int) -> bool:
        return state.of(ExecutionId(cell=cell, repeat=repeat)).state == "finished"

    with_finished = {cell for (cell, _), values in figures.items() for r in values if finished(cell, r)}
    return {
        (cell, metric): {r: v for r, v in values.items() if cell not in with_finished or finished(cell, r)}
        for (cell, metric), values in figures.items()
    }


def unit_of(metric: str) -> str:
    return "ns" if metric.endswith("_ns") else UNITS.get(metric, "1")


def run_summary(figures: Figures, plan: RunPlan, environment: Environment) -> list[dict[str, Any]]:
    """Rows of the table of that name, in order of the plan's cells."""
    rows = []
    for cell in plan.cells:
        for (name, metric), values in sorted(figures.items()):
            if name != cell.cell or not values:
                continue
            ordered = [values[r] for r in sorted(values)]
            middle, low, high = median_interval(ordered)
            rows.append(
                {
                    "cell": cell.cell, "label": cell.label, "broker": cell.broker,
                    "durability": computed_durability(environment, cell.cell) or cell.durability.value,
                    "metric": metric, "unit": unit_of(metric), "n": len(ordered), "median": middle,
                    "low": low, "high": high, "values": ordered,
                }
            )  # fmt: skip
    return rows


def computed_durability(environment: Environment, cell: str) -> str | None:
    """The level computed from the settings read back, None when that was never reached."""
    durability = environment.cell(cell).durability
    return None if durability is None else durability.level
