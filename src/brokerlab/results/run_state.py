"""What is known about a run on disk, finished or not: its executions, whether it is in progress, its verdict."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from brokerlab.errors import BusyError, DamagedFileError
from brokerlab.model.plan import RunPlan
from brokerlab.results.directory import RunDirectory, run_directories
from brokerlab.results.executions import all_executions
from brokerlab.results.verdict import Verdict

LOCK_FILE = "run.lock"
# A broker or an agent that died is a result like any other: to repeat the execution until it goes well would hide it.
ENDED = ("finished", "failed")


@dataclass(frozen=True)
class ExecutionOverview:
    """`state` is finished, running, interrupted, failed or waiting; "running" without a runner means it was cut off."""

    cell: str
    repeat: int
    state: str
    reason: str | None


@dataclass(frozen=True)
class RunOverview:
    """A run as it stands now. `verdict` is None until the run has been analyzed."""

    run: RunDirectory
    plan: RunPlan
    in_progress: bool
    executions: list[ExecutionOverview]
    verdict: Verdict | None

    @property
    def finished(self) -> int:
        return sum(e.state == "finished" for e in self.executions)

    @property
    def complete(self) -> bool:
        return self.finished == len(self.executions)

    @property
    def word(self) -> str:
        """in progress; complete; failed, when nothing is left to do and not all went well; incomplete otherwise."""
        if self.in_progress:
            return "in progress"
        if self.complete:
            return "complete"
        return "failed" if all(e.state in ENDED for e in self.executions) else "incomplete"


def run_state(run: RunDirectory) -> RunOverview:
    """Reads plan.json, state.json and verdict.json; DamagedFileError where one of them is damaged."""
    plan, running = run.plan(), in_progress(run)
    return RunOverview(run, plan, running, execution_states(run, plan, running), run.verdict())


def execution_states(run: RunDirectory, plan: RunPlan, running: bool) -> list[ExecutionOverview]:
    """Every planned execution in order, then the extra ones, with what state.json says about each."""
    document = run.state()
    states = []
    for execution in all_executions(plan, document):
        state: str = document.of(execution).state
        reason = document.of(execution).reason
        if state == "running" and not running:
            state, reason = "interrupted", reason or "cut off: its runner is gone; its evidence is kept"
        states.append(ExecutionOverview(execution.cell, execution.repeat, state, reason))
    return states


def unfinished_run(root: Path, fingerprint: str, note: Callable[[str], None]) -> RunDirectory | None:
    """The newest run of this fingerprint under `root`, if some of its executions have not ended. A run whose plan is
    damaged is passed over, and `note` is called with the damage."""
    for run in reversed(run_directories(root)):
        try:
            plan = run.plan()
        except DamagedFileError as damaged:
            note(damaged.message)
            continue
        if plan.fingerprint == fingerprint:
            ended = all(e.state in ENDED for e in execution_states(run, plan, running=False))
            return None if ended else run
    return None


def in_progress(run: RunDirectory) -> bool:
    """A runner holds the run's lock. Whoever asks does not disturb others that ask at the same moment."""
    try:
        with _locked(run, fcntl.LOCK_SH):
            return False
    except BusyError:
        return True


def runner_pid(run: RunDirectory) -> int | None:
    """The process that measures this run now; None where it is not in progress."""
    try:
        said = (run.path / LOCK_FILE).read_text()
    except OSError:
        return None
    return int(said) if said.isdigit() and in_progress(run) else None


@contextmanager
def exclusively(run: RunDirectory) -> Iterator[None]:
    """Hold the run's lock, or raise BusyError. Makes no lock file: where there is none, no runner holds it."""
    with _locked(run, fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(run: RunDirectory, how: int) -> Iterator[None]:
    try:
        descriptor = os.open(run.path / LOCK_FILE, os.O_RDWR)
    except FileNotFoundError:
        yield
        return
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"{run.name} is in progress", hint="wait for it, or interrupt it with Ctrl-C") from None
        yield
    finally:
        os.close(descriptor)


def delete_run(run: RunDirectory) -> None:
    """Delete the run with its evidence; BusyError while it is in progress."""
    with exclusively(run):
        # Renamed first: a deletion that is cut off leaves nothing that looks like a run.
        doomed = run.path.with_name(f".deleting-{run.name}")
        run.path.rename(doomed)
        shutil.rmtree(doomed)


def size_bytes(run: RunDirectory) -> int:
    """Of all files of the run together."""
    return sum(f.stat().st_size for f in run.path.rglob("*") if f.is_file())
