"""What is known about a run on disk, finished or not: its executions, whether it is in progress, its verdict."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brokerlab.errors import BusyError

if TYPE_CHECKING:
    from brokerlab.model.plan import RunPlan
    from brokerlab.results.directory import RunDirectory

LOCK_FILE = "run.lock"


@dataclass(frozen=True)
class ExecutionState:
    """`state` is finished, running, interrupted, failed or waiting; "running" without a runner means it was cut off."""

    cell: str
    repeat: int
    state: str
    reason: str | None


def in_progress(run: RunDirectory) -> bool:
    """A runner holds the run's lock."""
    try:
        with exclusively(run.path):
            return False
    except BusyError:
        return True


@contextmanager
def exclusively(directory: Path) -> Iterator[None]:
    """Hold the run's lock, or raise BusyError. Makes no lock file: where none is, nobody holds it."""
    try:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDWR)
    except FileNotFoundError:
        yield
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(
                f"{directory.name} is in progress", hint="wait for it, or interrupt it with Ctrl-C"
            ) from None
        yield
    finally:
        os.close(descriptor)


def execution_states(run: RunDirectory, plan: RunPlan, running: bool) -> list[ExecutionState]:
    """Every planned execution in order, with what state.json says about it."""
    known = run.state().get("executions", {})
    states = []
    for execution in plan.order:
        entry = known.get(str(execution), {})
        state, reason = entry.get("state", "waiting"), entry.get("reason")
        if state == "running" and not running:
            state, reason = "interrupted", reason or "cut off: its runner is gone; its evidence is kept"
        states.append(ExecutionState(execution.cell, execution.repeat, state, reason))
    return states


def state_word(states: list[ExecutionState], running: bool) -> str:
    """in progress; complete; failed, when nothing is left to do and not all went well; incomplete otherwise."""
    if running:
        return "in progress"
    found = {s.state for s in states}
    if found <= {"finished"}:
        return "complete"
    return "failed" if found <= {"finished", "failed"} else "incomplete"
