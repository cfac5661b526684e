"""Measured cells as a comparison sees them, whatever they were read from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from brokerlab.model.environment import CellEnvironment, Environment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import CellPlan, RunPlan
from brokerlab.model.tables import Table
from brokerlab.results.analyzed import AnalyzedRun, rows_of
from brokerlab.results.tables import DELIVERY, RUN_SUMMARY
from brokerlab.results.verdict import Aspect, CellVerdict

_ASPECTS_SINCE = 2  # schema version of verdict.json; before it a cell had one answer for everything


@dataclass(frozen=True)
class MeasuredCell:
    """One cell of one run. `values` are those of the counted executions, in order of repeat; `rounds` are the repeats
    these executions are, or stand in for."""

    run: str
    plan: CellPlan
    facts: CellEnvironment
    verdict: CellVerdict | None
    verdict_schema: int
    values: Mapping[str, tuple[float, ...]]
    rounds: tuple[int, ...]

    @property
    def durability(self) -> str:
        """The level computed from the settings read back; the one asked for where that was never reached."""
        return self.facts.durability.level if self.facts.durability else self.plan.durability.value

    def by_round(self, metric: str) -> dict[int, float] | None:
        """Values by round, or None where it is not known which execution lacks one."""
        values = self.values.get(metric, ())
        return dict(zip(self.rounds, values, strict=True)) if len(values) == len(self.rounds) else None

    def doubt(self, aspect: Aspect) -> str:
        """Why what belongs to this aspect is not to be believed; empty where it is."""
        weakness = self.weakness(aspect)
        return f"{self.plan.label} in {self.run} is {weakness}" if weakness else ""

    def weakness(self, aspect: Aspect) -> str:
        """The same for a place that names cell and run: "invalid in latencies: the agents were late"."""
        if self.verdict is None:
            return f"not named in its verdict as {self.plan.cell}"
        answer = self.verdict.verdict if self.verdict_schema < _ASPECTS_SINCE else getattr(self.verdict, aspect)
        if answer == "valid":
            return ""
        because = f": {self.verdict.because}" if self.verdict.because else ""
        return f"{answer} in {aspect}{because}"


@dataclass(frozen=True)
class MeasuredRun:
    plan: RunPlan
    environment: Environment
    cells: tuple[MeasuredCell, ...]
    started_unix_s: float | None = None  # when its first execution began

    @property
    def name(self) -> str:
        return self.plan.run


@dataclass(frozen=True)
class Found:
    """What a name stands for. `left_out` are runs that have not been analyzed, among them those in progress, which say so."""

    runs: tuple[MeasuredRun, ...]
    left_out: tuple[str, ...] = ()


class Source(Protocol):
    """Where runs are read from: a directory of runs, or the gold tables of a lake."""

    def find(self, name: str) -> Found | None:
        """The run of this name, or all runs of this tag. None where there is neither."""

    def nearest(self, name: str) -> str | None:
        """The name or tag that comes nearest."""

    def table(self, run: str, table: Table) -> pa.Table:
        """All rows of one result table of a run that was found."""

    def every(self) -> Found:
        """All runs, oldest first."""


def named_in_progress(run: str) -> str:
    """A run that goes on, as `left_out` has it."""
    return f"{run} (in progress)"


def measured(run: AnalyzedRun) -> MeasuredRun:
    """The cells of an analyzed run."""
    plan, verdict = run.plan, run.verdict
    values: dict[str, dict[str, tuple[float, ...]]] = defaultdict(dict)
    for row in rows_of(run, RUN_SUMMARY):
        values[row["cell"]][row["metric"]] = tuple(row["values"])
    rounds, judged = _counted_rounds(run), {c.cell: c for c in verdict.cells}
    cells = tuple(
        MeasuredCell(
            run=plan.run, plan=cell, facts=run.environment.cell(cell.cell), verdict=judged.get(cell.cell),
            verdict_schema=verdict.schema_version, values=values[cell.cell], rounds=rounds.get(cell.cell, ()),
        )
        for cell in plan.cells
    )  # fmt: skip
    began = [e.started_unix_s for e in run.state.executions.values() if e.started_unix_s is not None]
    return MeasuredRun(plan, run.environment, cells, min(began, default=None))


def _counted_rounds(run: AnalyzedRun) -> dict[str, tuple[int, ...]]:
    """By cell, in order of repeat: the repeats that the counted executions are or stand in for."""
    counted = {ExecutionId.of(row) for row in rows_of(run, DELIVERY) if row["counted"]}
    rounds: dict[str, list[int]] = defaultdict(list)
    for execution in sorted(counted, key=lambda e: e.repeat):
        rounds[execution.cell].append(run.state.of(execution).replaces or execution.repeat)
    return {cell: tuple(of) for cell, of in rounds.items()}
