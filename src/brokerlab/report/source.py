"""What a report is made of: the run directory's files, read leniently. What is missing is said, never guessed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from brokerlab.errors import DamagedFileError, MeasurementError
from brokerlab.model.environment import CellEnvironment, Environment
from brokerlab.model.plan import CellPlan, RunPlan
from brokerlab.model.state import RunState
from brokerlab.results.directory import RunDirectory
from brokerlab.results.tables import RESULT_TABLES
from brokerlab.results.verdict import CellVerdict, Verdict

Row = dict[str, Any]


@dataclass(frozen=True)
class TableData:
    """One table by columns, all of equal length, in the order of its declaration."""

    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def rows(self, **where: object) -> list[Row]:
        """Rows whose named columns have these values."""
        names = list(self.columns)
        tests = [(self.columns[k], v) for k, v in where.items()]
        return [
            {n: self.columns[n][i] for n in names}
            for i in range(len(self))
            if all(column[i] == v for column, v in tests)
        ]


@dataclass(frozen=True)
class Source:
    """Everything the sections read. `missing` holds one sentence per part that is not there."""

    run: str
    plan: RunPlan | None
    environment: Environment | None
    state: RunState
    verdict: Verdict | None
    tables: dict[str, TableData]
    missing: tuple[str, ...] = field(default=())

    def table(self, name: str) -> TableData:
        """The table, with no rows where the run has none."""
        return self.tables.get(name) or TableData({c: [] for c in RESULT_TABLES[name].names()})

    def cells(self) -> tuple[str, ...]:
        """Cell names in the plan's order, else as the verdict or the tables name them."""
        if self.plan is not None:
            return tuple(c.cell for c in self.plan.cells)
        if self.verdict is not None:
            return tuple(c.cell for c in self.verdict.cells)
        return tuple(sorted({c for t in self.tables.values() for c in t.columns.get("cell", ())}))

    def cell_plan(self, cell: str) -> CellPlan | None:
        return next((c for c in self.plan.cells if c.cell == cell), None) if self.plan else None

    def cell_verdict(self, cell: str) -> CellVerdict | None:
        return next((c for c in self.verdict.cells if c.cell == cell), None) if self.verdict else None

    def label(self, cell: str) -> str:
        """What differs from the other cells, for people."""
        named = self.cell_plan(cell) or self.cell_verdict(cell)
        return (named.label if named else "") or cell

    def cell_environment(self, cell: str) -> CellEnvironment:
        return (self.environment or Environment()).cell(cell)

    def levels(self) -> list[tuple[str | None, list[str]]]:
        """Cells by durability level, the strongest first; those whose level was not computed last."""
        found: dict[str | None, list[str]] = {}
        for cell in sorted(self.cells(), key=lambda c: self.durability(c) or "~"):
            found.setdefault(self.durability(cell), []).append(cell)
        return list(found.items())

    def security(self, cell: str) -> str:
        """ "TLS and password", or "none". No more than that: the references in the plan do not belong in a report."""
        plan = self.cell_plan(cell)
        return plan.security.words() if plan is not None and plan.security is not None else "none"

    def durability(self, cell: str) -> str | None:
        """The level computed from the settings read back; None where it was not."""
        judged = self.cell_verdict(cell)
        if judged is not None and judged.durability_computed:
            return judged.durability_computed
        computed = self.cell_environment(cell).durability
        return None if computed is None else computed.level


def read_source(run: RunDirectory) -> Source:
    """Read all there is of a run. Never fails because a part is missing or damaged; says so in `missing` instead."""
    missing: list[str] = []
    plan = None
    try:
        plan = run.plan()
    except DamagedFileError as error:
        missing.append(f"plan.json cannot be read ({error.problem}): the question and its cells are not known.")
    environment, state = _environment(run, missing), RunState()
    try:
        state = run.state()
    except DamagedFileError as error:
        missing.append(f"state.json cannot be read ({error.problem}).")
    verdict = None
    if not run.verdict_file.exists():
        missing.append(f"verdict.json is missing: the run has not been analyzed. Run: brokerlab analyze {run.name}")
    else:
        try:
            verdict = run.verdict()
        except DamagedFileError as error:
            missing.append(f"verdict.json cannot be read ({error.problem}). Run: brokerlab analyze {run.name}")
    tables = _tables(run, missing)
    return Source(run.name, plan, environment, state, verdict, tables, tuple(missing))


def _environment(run: RunDirectory, missing: list[str]) -> Environment | None:
    unknown = "host, versions and effective settings are not known."
    if not run.environment_file.exists():
        missing.append(f"environment.json is missing: {unknown}")
        return None
    try:
        return run.environment()
    except DamagedFileError as error:
        missing.append(f"environment.json cannot be read ({error.problem}): {unknown}")
        return None


def _tables(run: RunDirectory, missing: list[str]) -> dict[str, TableData]:
    from brokerlab.results.reader import read_table  # pyarrow: only when a report is made

    found: dict[str, TableData] = {}
    absent = []
    for name, declared in RESULT_TABLES.items():
        if not any((run.tables / name).glob("*.parquet")):
            absent.append(name)
            continue
        try:
            found[name] = TableData(read_table(run, declared).to_pydict())
        except (MeasurementError, OSError, ValueError, KeyError) as error:  # pyarrow's own are the last three
            missing.append(f"table {name} cannot be read ({_brief(error)}).")
    if len(absent) == len(RESULT_TABLES):
        missing.append(f"There are no tables: the evidence has not been analyzed. Run: brokerlab analyze {run.name}")
    elif absent:
        missing.append(f"Missing tables: {', '.join(absent)}.")
    return found


def _brief(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}"[:160] if text else type(error).__name__
