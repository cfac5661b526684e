"""Measured cells as a comparison sees them, whatever they were read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from brokerlab.model.environment import CellEnvironment, Environment
from brokerlab.model.plan import CellPlan, RunPlan
from brokerlab.model.tables import Table
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
        if self.verdict is None:
            return f"the verdict of {self.run} does not name {self.plan.cell}"
        answer = self.verdict.verdict if self.verdict_schema < _ASPECTS_SINCE else getattr(self.verdict, aspect)
        if answer == "valid":
            return ""
        because = f": {self.verdict.because}" if self.verdict.because else ""
        return f"{self.plan.label} in {self.run} is {answer} in {aspect}{because}"


@dataclass(frozen=True)
class MeasuredRun:
    plan: RunPlan
    environment: Environment
    cells: tuple[MeasuredCell, ...]

    @property
    def name(self) -> str:
        return self.plan.run


@dataclass(frozen=True)
class Found:
    """What a name stands for. `left_out` are runs of a tag that have not been analyzed."""

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
