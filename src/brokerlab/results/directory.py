"""The run directory, file by file: the only contract between the stages.

runs/<utc>-<name>-<id>/
  plan.json            what was asked (RunPlan), written first
  environment.json     host, versions, clock pairs; per cell the broker's effective settings and computed durability, what
                       its processes were held to, and the execution that each cluster was started for
  state.json           which executions finished, were interrupted or failed, and why
  evidence/<cell>-r<repeat>/<table>/<writer>-<number>.parquet
  probes/<cell>-r<repeat>/reading/<writer>-<number>.parquet
  events/<cell>-r<repeat>/event/<writer>-<number>.parquet
  <evidence, probes>/<cell>-r<repeat>/compacted/<table>/*.parquet   small segments once more, together: evidence/compacted.py
  logs/<cell>-r<repeat>/<process>.log
  logs/<cell>-r<repeat>/live.jsonl     what each agent said once a second, for those who watch; no result is made from it
  run.lock             held, with its process id, by the process that measures
  follow/              of `brokerlab lake follow`: what it has read so far, to go on from after a crash
  abandoned/           evidence of executions that were cut off and run again
  quarantine/          of runs analyzed by 0.1.0: segments that it could not read, each with <name>.reason
  tables/<table>/*.parquet   verdict.json   report.html        made from the above alone
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from brokerlab.errors import NotFoundError, UserError
from brokerlab.model.environment import Environment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import RunPlan
from brokerlab.model.state import RunState
from brokerlab.results.document import read_document
from brokerlab.results.verdict import Verdict


def write_json(path: Path, value: Any) -> None:
    """Write whole or not at all: a temporary file beside it, fsync, rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "w") as f:
            json.dump(value, f, indent=1, sort_keys=False)
            f.write("\n")
            f.flush()
            os.fsync(f.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@dataclass(frozen=True)
class RunDirectory:
    """Paths within one run; reading and writing its JSON files."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def environment_file(self) -> Path:
        return self.path / "environment.json"

    @property
    def verdict_file(self) -> Path:
        return self.path / "verdict.json"

    @property
    def report_file(self) -> Path:
        return self.path / "report.html"

    @property
    def tables(self) -> Path:
        return self.path / "tables"

    def evidence(self, execution: ExecutionId) -> Path:
        return self.path / "evidence" / str(execution)

    def probes(self, execution: ExecutionId) -> Path:
        return self.path / "probes" / str(execution)

    def events(self, execution: ExecutionId) -> Path:
        return self.path / "events" / str(execution)

    def logs(self, execution: ExecutionId) -> Path:
        return self.path / "logs" / str(execution)

    def live_lines(self, execution: ExecutionId) -> Path:
        return self.logs(execution) / "live.jsonl"

    def plan(self) -> RunPlan:
        return read_document(self.path / "plan.json", RunPlan.model_validate_json, self._without_it())

    def environment(self) -> Environment:
        """An empty one where the file is not there."""
        file = self.environment_file
        return (
            read_document(file, Environment.model_validate_json, self._without_it()) if file.exists() else Environment()
        )

    def state(self) -> RunState:
        """One without any execution where the file is not there."""
        file = self.path / "state.json"
        return read_document(file, RunState.model_validate_json, self._without_it()) if file.exists() else RunState()

    def verdict(self) -> Verdict | None:
        """None before the run was analyzed."""
        if not self.verdict_file.exists():
            return None
        what_to_do = f"brokerlab analyze {self.name} makes it again from the evidence"
        return read_document(self.verdict_file, Verdict.model_validate_json, what_to_do)

    def _without_it(self) -> str:
        return f"put it back from a copy, or delete the run with brokerlab rm {self.name}; --fresh begins a new run"

    def write(self, name: str, value: BaseModel) -> None:
        write_json(self.path / name, value.model_dump(mode="json"))


def usable_runs_directory(root: Path) -> None:
    """Make the place where runs are kept. Raises UserError where that cannot be."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise UserError(
            f"runs cannot be kept in {root}: {error.strerror or error}",
            hint="choose another directory with --runs or BROKERLAB_RUNS",
        ) from error


def run_directories(root: Path) -> list[RunDirectory]:
    """All runs under `root`, oldest first."""
    if not root.is_dir():
        return []
    return [RunDirectory(p) for p in sorted(root.iterdir()) if (p / "plan.json").is_file()]


def find_run(root: Path, wanted: str) -> RunDirectory:
    """The run whose name is, begins with, ends with or contains `wanted`; "last" is the newest; a path works too."""
    if (Path(wanted) / "plan.json").is_file():
        return RunDirectory(Path(wanted).absolute())
    runs = run_directories(root)
    if not runs:
        raise NotFoundError(f"no runs in {root}", hint="brokerlab demo makes one")
    if wanted == "last":
        return runs[-1]
    hits = [r for r in runs if r.name == wanted] or [r for r in runs if wanted in r.name]
    if len(hits) == 1:
        return hits[0]
    if hits:
        raise NotFoundError(
            f"{wanted!r} matches {len(hits)} runs: {', '.join(r.name for r in hits[:5])}", hint="give more of the name"
        )
    raise NotFoundError(f"no run is called {wanted!r} in {root}", hint="brokerlab list runs shows them all")
