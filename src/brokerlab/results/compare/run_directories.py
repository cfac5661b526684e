"""Measured cells from run directories, by pyarrow alone."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

import pyarrow as pa

from brokerlab.errors import NotFoundError, UserError
from brokerlab.model.tables import Table
from brokerlab.results.analyzed import DirectoryRun
from brokerlab.results.compare.measured import Found, MeasuredRun, measured, named_in_progress
from brokerlab.results.directory import RunDirectory, find_run, run_directories
from brokerlab.results.reader import read_table
from brokerlab.results.run_state import in_progress


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
        chosen = find_run(self._root, name)
        if in_progress(chosen):
            raise UserError(f"{chosen.name} is in progress", hint=f"brokerlab watch {chosen.name} shows it meanwhile")
        return Found((self._measured(chosen),))

    def nearest(self, name: str) -> str | None:
        runs = run_directories(self._root)
        known = {_tag(r) or "": _tag(r) or "" for r in runs} | {_given_name(r): r.name for r in runs}
        known |= {r.name: r.name for r in runs}
        close = difflib.get_close_matches(name, [k for k in known if k], n=1, cutoff=0.6)
        return known[close[0]] if close else None

    def every(self) -> Found:
        return self._all(run_directories(self._root))

    def table(self, run: str, table: Table) -> pa.Table:
        return read_table(self._read[run], table)

    def _is_exact(self, name: str) -> bool:
        here = (self._root / name / "plan.json", Path(name) / "plan.json")
        return (name == "last" and bool(run_directories(self._root))) or any(p.is_file() for p in here)

    def _tagged(self, tag: str, runs: list[RunDirectory]) -> Found:
        found = self._all(runs)
        if not found.runs:
            ended = [r.name for r in runs if not in_progress(r)]
            hint = f"brokerlab analyze {ended[-1]}" if ended else f"brokerlab watch {runs[-1].name} shows it meanwhile"
            raise NotFoundError(f"no run tagged {tag!r} has been analyzed: {', '.join(found.left_out[:5])}", hint=hint)
        return found

    def _all(self, runs: list[RunDirectory]) -> Found:
        """One in progress may have a verdict: of what there was when it was cut off, before it was resumed."""
        going = {r.name for r in runs if in_progress(r)}
        analyzed = [r for r in runs if r.verdict_file.exists() and r.name not in going]
        left_out = tuple(named_in_progress(r.name) if r.name in going else r.name for r in runs if r not in analyzed)
        return Found(tuple(self._measured(r) for r in analyzed), left_out)

    def _measured(self, directory: RunDirectory) -> MeasuredRun:
        found = measured(DirectoryRun(directory))
        self._read[found.name] = directory
        return found


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
