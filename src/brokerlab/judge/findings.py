"""What checks may look at, and how they say what they found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from brokerlab.judge.summary import Figures, Row
from brokerlab.model.environment import Environment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import CellPlan, RunPlan
from brokerlab.model.state import ExecutionState, RunState
from brokerlab.results.verdict import Reason

Weight = Literal["invalid", "cannot tell", "note"]


@dataclass(frozen=True)
class Findings:
    """All a check may look at: what was asked, what the runner noted, and the small tables."""

    plan: RunPlan
    state: RunState
    environment: Environment
    tables: Mapping[str, list[Row]]
    figures: Figures
    events: list[Row] = field(default_factory=list)
    errors: list[Row] = field(default_factory=list)
    set_aside: tuple[tuple[str, str], ...] = ()  # (execution, text)
    with_evidence: frozenset[str] = frozenset()

    def cell(self, name: str) -> CellPlan:
        return next(c for c in self.plan.cells if c.cell == name)

    def rows(self, table: str) -> list[Row]:
        return self.tables.get(table, [])

    def execution_state(self, cell: str, repeat: int) -> ExecutionState:
        return self.state.of(ExecutionId(cell=cell, repeat=repeat))


def reason(
    code: str, weight: Weight, row: Row, text: str, value: float | None = None, limit: float | None = None
) -> Reason:
    """A reason about the cell and repeat of `row`."""
    return Reason(code=code, weight=weight, cell=row["cell"], repeat=row["repeat"], text=text, value=value, limit=limit)


def is_closed(cell: CellPlan) -> bool:
    return cell.producers.schedule.arrival == "closed"
