"""Errors planted in the measure phase of every execution of a run, from a thread that follows its journal."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from brokerlab.evidence.segments import rows
from brokerlab.evidence.tables import EVENT
from brokerlab.lifeline import die_with_parent
from brokerlab.model.events import AgentStarted, PhaseBegun, event_of
from brokerlab.model.plan import RunPlan
from brokerlab.results.directory import run_directories

AFTER_S = 1.5  # into the measure phase
LOOK_EVERY_S = 0.05
SPIN = "while True: pass"
# Two of these use 0.3 cores, in bursts that take a processor away.
BURSTS = "import time\nwhile True:\n    end = time.monotonic() + 0.15\n    while time.monotonic() < end: pass\n    time.sleep(0.85)"


@dataclass(frozen=True)
class Moment:
    """An execution AFTER_S into its measure phase: its agents' process numbers by name."""

    agents: dict[str, int] = field(default_factory=dict)

    def agent(self, role: str) -> int:
        return next(pid for name, pid in self.agents.items() if name.startswith(role))


Plant = Callable[[Moment], None]


def stop_for(role: str, seconds: float) -> Plant:
    """SIGSTOP, and SIGCONT so many seconds later."""

    def plant(moment: Moment) -> None:
        pid = moment.agent(role)
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)

    return plant


def keep_busy(seconds: float) -> Plant:
    """Two programs that never wait on every core."""

    def plant(_: Moment) -> None:
        with programs(SPIN, 2 * (os.cpu_count() or 1)):
            time.sleep(seconds)

    return plant


def step_clock(seconds: float) -> Plant:
    """The UNIX clock goes forward in one execution and back in the next, so that each has one step; it is right again when
    the program ends. Needs the right to set it."""
    ahead: list[float] = []

    def plant(_: Moment) -> None:
        step(-ahead.pop() if ahead else seconds)

    def step(by: float) -> None:
        time.clock_settime(time.CLOCK_REALTIME, time.time() + by)
        if by > 0:
            ahead.append(by)

    atexit.register(lambda: step(-ahead.pop()) if ahead else None)
    return plant


@contextmanager
def programs(code: str, count: int) -> Iterator[None]:
    """So many Python programs beside us, ended at the end, also where we are killed."""
    running = [subprocess.Popen([sys.executable, "-c", code], preexec_fn=die_with_parent) for _ in range(count)]
    try:
        yield
    finally:
        for program in running:
            program.kill()
            program.wait()


@contextmanager
def planted(plan: RunPlan, runs: Path, plant: Plant) -> Iterator[None]:
    """Plants once in every execution of the newest run under `runs`, as long as the block lasts."""
    over = threading.Event()
    follower = threading.Thread(target=_follow, args=(plan, runs, plant, over), name="planting")
    follower.start()
    try:
        yield
    finally:
        over.set()
        follower.join()


def _follow(plan: RunPlan, runs: Path, plant: Plant, over: threading.Event) -> None:
    done: set[str] = set()
    while not over.wait(LOOK_EVERY_S):
        for run in run_directories(runs):
            for folder in sorted((run.path / "events").glob("*")):
                moment = None if folder.name in done else _moment(plan, folder)
                if moment is not None:
                    done.add(folder.name)
                    plant(moment)


def _moment(plan: RunPlan, folder: Path) -> Moment | None:
    """The execution's moment, once it has come."""
    try:
        events = [(row["source"], event_of(row)) for row in rows(folder, EVENT)]
    except (OSError, pa.ArrowException):
        return None
    begun = [e.start_mono_ns for _, e in events if isinstance(e, PhaseBegun) and e.start_mono_ns is not None]
    warm_up_s = plan.cells[0].phases.warm_up_s
    if not begun or time.monotonic_ns() < begun[0] + (warm_up_s + AFTER_S) * 1e9:
        return None
    return Moment({source: e.pid for source, e in events if isinstance(e, AgentStarted)})
