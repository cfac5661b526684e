"""An analyzed run, wherever it is read from: what was asked, on what it was measured, what may be believed, and its tables."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from brokerlab.model.arrow import repeated
from brokerlab.model.environment import Environment
from brokerlab.model.plan import RunPlan
from brokerlab.model.state import RunState
from brokerlab.model.tables import Table
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_table, read_verdict
from brokerlab.results.verdict import Verdict


class AnalyzedRun(Protocol):
    @property
    def plan(self) -> RunPlan: ...

    @property
    def environment(self) -> Environment: ...

    @property
    def state(self) -> RunState: ...

    @property
    def verdict(self) -> Verdict: ...

    def table(self, table: Table) -> pa.Table:
        """All rows, with the declared columns; `run` holds the run's name."""


class DirectoryRun:
    """Of a run directory. Documents are read when they are first asked for, and then kept; NotFoundError at `verdict` where the
    run has not been analyzed."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory

    @cached_property
    def plan(self) -> RunPlan:
        return self._directory.plan()

    @cached_property
    def environment(self) -> Environment:
        return self._directory.environment()

    @cached_property
    def state(self) -> RunState:
        return self._directory.state()

    @cached_property
    def verdict(self) -> Verdict:
        return read_verdict(self._directory)

    def table(self, table: Table) -> pa.Table:
        """`run` holds the run's name also where 0.1.0, which did not write it, made the table."""
        return named(read_table(self._directory, table), self.plan.run)


def named(found: pa.Table, run: str) -> pa.Table:
    """The same rows with the run's name in the column `run`, where the table has it."""
    if "run" not in found.column_names or len(found) == 0:
        return found
    place = found.column_names.index("run")
    return found.set_column(place, found.schema.field(place), repeated(run, len(found)))


def rows_of(run: AnalyzedRun, table: Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = run.table(table).to_pylist()
    return rows
