"""run_summary: one figure per cell and metric with its interval over executions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brokerlab.judge.figures import Figures
from brokerlab.judge.statistics import median_interval
from brokerlab.model.environment import Environment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.metrics import METRICS
from brokerlab.model.plan import RunPlan

Counts = Callable[[ExecutionId], bool]  # whether an execution counts


def run_summary(figures: Figures, plan: RunPlan, environment: Environment, counts: Counts) -> list[dict[str, Any]]:
    """Rows of the table of that name, in order of the plan's cells. A cell without a counted execution has no rows."""
    rows = []
    for cell in plan.cells:
        for (name, metric), values in sorted(figures.items()):
            if name != cell.cell:
                continue
            counted = [values[r] for r in sorted(values) if counts(ExecutionId(cell=name, repeat=r))]
            if not counted:
                continue
            middle, low, high = median_interval(counted)
            all_middle, _, _ = median_interval(list(values.values()))
            rows.append(
                {
                    "cell": cell.cell, "label": cell.label, "broker": cell.broker,
                    "durability": computed_durability(environment, cell.cell) or cell.durability.value,
                    "metric": metric, "unit": METRICS[metric].unit, "n": len(counted), "median": middle,
                    "low": low, "high": high, "values": counted,
                    "set_aside": len(values) - len(counted), "median_with_set_aside": all_middle,
                }
            )  # fmt: skip
    return rows


def computed_durability(environment: Environment, cell: str) -> str | None:
    """The level computed from the settings read back, None when that was never reached."""
    durability = environment.cell(cell).durability
    return None if durability is None else durability.level
