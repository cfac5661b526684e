"""What checks may look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from brokerlab.judge.figures import Figures, Row
from brokerlab.model.environment import Environment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import CellPlan, Phase, RunPlan
from brokerlab.model.state import RunState
from brokerlab.results.executions import all_executions


@dataclass(frozen=True)
class Findings:
    """What was asked, what the runner noted, and the small tables: of a whole run, or of one execution just ended."""

    plan: RunPlan
    state: RunState
    environment: Environment
    tables: Mapping[str, list[Row]]
    figures: Figures
    events: list[Row] = field(default_factory=list)
    errors: list[Row] = field(default_factory=list)
    unreadable: tuple[tuple[str, str], ...] = ()  # (execution, text) of segments that could not be read
    left_out: tuple[tuple[str, str], ...] = ()  # the same of segments that do not belong to the run: nothing is missing
    with_evidence: frozenset[str] = frozenset()
    summary: Sequence[Row] = ()  # run_summary, once it is made

    @cached_property
    def executions(self) -> tuple[ExecutionId, ...]:
        """The planned executions in their order, then the extra ones."""
        return all_executions(self.plan, self.state)

    def of_cell(self, cell: str) -> list[ExecutionId]:
        return [e for e in self.executions if e.cell == cell]

    def cell(self, name: str) -> CellPlan:
        return next(c for c in self.plan.cells if c.cell == name)

    def rows(self, table: str) -> list[Row]:
        return self.tables.get(table, [])

    def is_finished(self, execution: ExecutionId) -> bool:
        return self.state.of(execution).state == "finished"

    def cpu_count(self) -> int:
        """Processors of the host; one where nothing is known, which makes limits strict."""
        return self.environment.host.cpu_count or 1

    def measured(self, table: str) -> dict[ExecutionId, list[Row]]:
        """Rows of the measure phase of a table, by execution."""
        return by_execution(r for r in self.rows(table) if r["phase"] == Phase.MEASURE.value and r["repeat"] > 0)


def by_execution(rows: Iterable[Row]) -> dict[ExecutionId, list[Row]]:
    found: dict[ExecutionId, list[Row]] = defaultdict(list)
    for row in rows:
        found[ExecutionId.of(row)].append(row)
    return {e: found[e] for e in sorted(found, key=lambda e: (e.cell, e.repeat))}


def is_closed(cell: CellPlan) -> bool:
    return cell.producers.schedule.arrival == "closed"
