"""Which groups receive while messages are sent, from the first on: rates and latencies of receiving are theirs. A set of
consumers that starts later reads a backlog, and has its figures in `catch_up`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from brokerlab.model.plan import CellPlan, RunPlan

Row = Mapping[str, Any]


def tailing_cells(plan: RunPlan) -> frozenset[str]:
    """Cells with a set of consumers that starts before the first send."""
    return frozenset(c.cell for c in plan.cells if any(not of.starts_late for of in c.consumer_sets))


def tailing_groups(cell: CellPlan) -> int:
    return sum(of.groups for of in cell.consumer_sets if not of.starts_late)


def any_late(cell: CellPlan) -> bool:
    return any(of.starts_late for of in cell.consumer_sets)


def of_tailing(plan: RunPlan, rows: Iterable[Row]) -> list[Row]:
    """Rows with `cell` and `group`, without those of groups that start late where others of the cell tail."""
    mixed = {c.cell: c for c in plan.cells if any_late(c) and tailing_groups(c)}
    return [
        r
        for r in rows
        if r["cell"] not in mixed or not (r["group"] and mixed[r["cell"]].set_of(r["group"]).starts_late)
    ]
