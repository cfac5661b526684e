"""scaling: the curve through the rates of a sweep's cells, or why there is none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from brokerlab.judge.figures import Figures
from brokerlab.judge.scaling import Estimate, fit_usl
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import CellPlan, RunPlan

FEWEST_POINTS = 4
FEWEST_EXECUTIONS = 5
METRICS = ("sent_per_s", "received_per_s")
# Swept fields that are a number of things at work at the same time: what the law is about.
AXES: dict[str, Callable[[CellPlan], int | None]] = {
    "producers.count": lambda c: c.producers.count,
    "producers.agents": lambda c: c.producers.agents,
    "producers.window": lambda c: c.producers.schedule.window,
    "consumers.groups": lambda c: c.consumers.groups,
    "consumers.per_group": lambda c: c.consumers.per_group,
    "consumers.agents_per_group": lambda c: c.consumers.agents_per_group,
    "destinations.count": lambda c: c.destinations,
    "destinations.partitions": lambda c: c.partitions,
    "cluster.nodes": lambda c: c.nodes,
}
Counts = Callable[[ExecutionId], bool]
_ESTIMATES = ("alone_per_s", "contention", "coherency", "knee")


def scaling_rows(
    figures: Figures, plan: RunPlan, counts: Counts, believed: Callable[[str], bool]
) -> list[dict[str, Any]]:
    """Rows of the table of that name: one per swept field, series of cells alike in all else, and metric. A run without
    a sweep has none. Cells whose rates are not `believed` have no part in a curve."""
    swept = dict.fromkeys(name for cell in plan.cells for name in cell.parameters if name not in ("broker", "brokers"))
    rows = []
    for axis in swept:
        for others, cells in _series(plan, axis).items():
            for metric in METRICS:
                values = {c.cell: _values(figures, c, metric, counts) for c in cells}
                if any(values.values()):
                    good = [c for c in cells if believed(c.cell)]
                    named = {"cells": good, "left_out": [c for c in cells if c not in good]}
                    head = {"axis": axis, "series": others, "metric": metric}
                    head |= {name: ", ".join(c.cell for c in of) for name, of in named.items()}
                    row = head | _row(axis, good, values)
                    if row["alone_per_s"] is None and row["left_out"]:
                        row["reason"] += f"; the rates of {row['left_out']} are not valid"
                    rows.append(row)
    return rows


def _series(plan: RunPlan, axis: str) -> dict[str, list[CellPlan]]:
    """Cells that differ in `axis` alone, by what they share: "memory, producers.message 1KiB"."""
    found: dict[str, list[CellPlan]] = defaultdict(list)
    for cell in plan.cells:
        if axis in cell.parameters:
            rest = [
                f"{name} {value}" for name, value in cell.parameters.items() if name not in (axis, "broker", "brokers")
            ]
            found[", ".join([cell.broker, *rest])].append(cell)
    return dict(found)


def _values(figures: Figures, cell: CellPlan, metric: str, counts: Counts) -> list[float]:
    values = figures.get((cell.cell, metric), {})
    return [values[r] for r in sorted(values) if counts(ExecutionId(cell=cell.cell, repeat=r)) and values[r] > 0]


def _row(axis: str, cells: list[CellPlan], values: Mapping[str, list[float]]) -> dict[str, Any]:
    at = AXES.get(axis)
    points = [(at(c) if at else None, v) for c in cells for v in values[c.cell]]
    different = {n for n, _ in points if n}
    row: dict[str, Any] = {
        "points": len(different), "executions": len(points), "highest_per_s": None, "deviation": None, "knee_measured": None,
        **{f"{name}{end}": None for name in _ESTIMATES for end in ("", "_low", "_high")},
    }  # fmt: skip
    reason = _why_not(axis, cells, len(different), len(points))
    if reason:
        return row | {"reason": reason}
    n, rate = (np.array(column, np.float64) for column in zip(*points, strict=True))
    found = fit_usl(n, rate)
    named = zip(_ESTIMATES, (found.alone, found.contention, found.coherency, found.knee), strict=True)
    for name, estimate in named:
        row |= _ends(name, estimate)
    row |= {"highest_per_s": found.highest, "deviation": found.deviation}
    if found.knee is None:
        return row | {"reason": "no knee: the rate only rises"}
    return row | {"knee_measured": bool(n.min() <= found.knee.value <= n.max()), "reason": ""}


def _ends(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    if estimate is None:
        return {}
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _why_not(axis: str, cells: list[CellPlan], points: int, executions: int) -> str:
    if axis not in AXES:
        return f"{axis} is no number of things at work at the same time"
    open_loop = [c.cell for c in cells if c.producers.schedule.arrival != "closed"]
    if open_loop:
        return f"the schedule sets the rate of {', '.join(open_loop)}: scaling is measured in a closed loop"
    if points < FEWEST_POINTS:
        return f"{points} different values with a rate, {FEWEST_POINTS} are needed"
    if executions < FEWEST_EXECUTIONS:
        return f"{executions} executions, {FEWEST_EXECUTIONS} are needed"
    return ""
