"""Measured cells from run directories, by pyarrow alone."""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from pathlib import Path

import pyarrow as pa

from brokerlab.errors import NotFoundError
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.tables import Table
from brokerlab.results.compare.measured import Found, MeasuredCell, MeasuredRun
from brokerlab.results.directory import RunDirectory, find_run, run_directories
from brokerlab.results.reader import read_rows, read_table, read_verdict
from brokerlab.results.tables import DELIVERY, RUN_SUMMARY


class RunDirectories:
    """The runs under one directory. A name is a path, a run's name, `last`, a tag, or a part of a name that only one run
    has; in this order."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: dict[str, RunDirectory] = {}

    def find(self, name: str) -> Found | None:
        tagged = [] if self._is_exact(name) else [r for r in run_directories(self._root) if _tag(r) == name]
        if tagged:
            return self._tagged(name, tagged)
        if not self._is_exact(name) and not any(name in r.name for r in run_directories(self._root)):
            return None
        return Found((self._measured(find_run(self._root, name)),))

    def nearest(self, name: str) -> str | None:
        runs = run_directories(self._root)
        known = {_tag(r) or "": _tag(r) or "" for r in runs} | {_given_name(r): r.name for r in runs}
        known |= {r.name: r.name for r in runs}
        close = difflib.get_close_matches(name, [k for k in known if k], n=1, cutoff=0.6)
        return known[close[0]] if close else None

    def table(self, run: str, table: Table) -> pa.Table:
        return read_table(self._read[run], table)

    def _is_exact(self, name: str) -> bool:
        here = (self._root / name / "plan.json", Path(name) / "plan.json")
        return (name == "last" and bool(run_directories(self._root))) or any(p.is_file() for p in here)

    def _tagged(self, tag: str, runs: list[RunDirectory]) -> Found:
        analyzed = [r for r in runs if r.verdict_file.exists()]
        if not analyzed:
            raise NotFoundError(
                f"no run tagged {tag!r} has been analyzed: {', '.join(r.name for r in runs[:5])}",
                hint=f"brokerlab analyze {runs[-1].name}",
            )
        left_out = tuple(r.name for r in runs if r not in analyzed)
        return Found(tuple(self._measured(r) for r in analyzed), left_out)

    def _measured(self, directory: RunDirectory) -> MeasuredRun:
        verdict, plan, environment = read_verdict(directory), directory.plan(), directory.environment()
        values: dict[str, dict[str, tuple[float, ...]]] = defaultdict(dict)
        for row in read_rows(directory, RUN_SUMMARY):
            values[row["cell"]][row["metric"]] = tuple(row["values"])
        rounds, judged = _counted_rounds(directory), {c.cell: c for c in verdict.cells}
        cells = tuple(
            MeasuredCell(
                run=plan.run, plan=cell, facts=environment.cell(cell.cell), verdict=judged.get(cell.cell),
                verdict_schema=verdict.schema_version, values=values[cell.cell], rounds=rounds.get(cell.cell, ()),
            )
            for cell in plan.cells
        )  # fmt: skip
        self._read[plan.run] = directory
        return MeasuredRun(plan, environment, cells)


def _counted_rounds(directory: RunDirectory) -> dict[str, tuple[int, ...]]:
    """By cell, in order of repeat: the repeats that the counted executions are or stand in for."""
    state = directory.state()
    counted = {ExecutionId.of(row) for row in read_rows(directory, DELIVERY) if row["counted"]}
    rounds: dict[str, list[int]] = defaultdict(list)
    for execution in sorted(counted, key=lambda e: e.repeat):
        rounds[execution.cell].append(state.of(execution).replaces or execution.repeat)
    return {cell: tuple(of) for cell, of in rounds.items()}


def _tag(run: RunDirectory) -> str | None:
    """Without checking the plan: one damaged plan must not hide the other runs."""
    try:
        tag = json.loads((run.path / "plan.json").read_text("utf-8"))["tag"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return tag if isinstance(tag, str) else None


def _given_name(run: RunDirectory) -> str:
    """The middle of <utc>-<name>-<id>."""
    return run.name.partition("-")[2].rpartition("-")[0]
