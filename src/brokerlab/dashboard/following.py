"""A run that is watched: its state, the tables of one execution at a time, and the verdict so far."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from brokerlab.dashboard.live_tables import LiveTables
from brokerlab.dashboard.so_far import counts, reasons
from brokerlab.errors import BrokerlabError, NotFoundError
from brokerlab.model.environment import Environment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import RunPlan
from brokerlab.model.state import RunState
from brokerlab.results.directory import RunDirectory
from brokerlab.results.executions import all_executions
from brokerlab.results.run_state import RunOverview, execution_states, in_progress
from brokerlab.results.verdict import Verdict

POLL_S = 0.4
JUDGE_EVERY_S = 2.0
JUDGE_PAUSE = 50  # times as long as the last judgement took: a long run has much to go through
KEPT_EXECUTIONS = 3


class FollowedRun:
    """Everything that tabs and terminals ask of one run, however many they are: files are read once for all of them.
    `outward` makes of an event's detail what those may see who ask."""

    def __init__(
        self, directory: RunDirectory, outward: Callable[[str], str] = str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.directory = directory
        self._clock_s = clock
        self._outward = outward
        self.plan: RunPlan = directory.plan()
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._begun = False
        self._tables: OrderedDict[tuple[ExecutionId, int], LiveTables] = OrderedDict()  # by execution and attempt
        self._overview: tuple[float, RunOverview, RunState] | None = None
        self._verdict: tuple[int, Verdict | None] = (0, None)
        self._judged: dict[ExecutionId, tuple[LiveTables, float, list[dict[str, Any]]]] = {}  # of what, until when
        self._labels = {c.cell: c.label for c in self.plan.cells}

    def _now(self) -> tuple[RunOverview, RunState]:
        """How far the run is, read again where the last time is long ago."""
        with self._looking:
            if self._overview is None or self._clock_s() - self._overview[0] >= POLL_S:
                if not (self.directory.path / "plan.json").exists():
                    raise NotFoundError(f"{self.directory.name} was deleted")
                running = in_progress(self.directory)
                states = execution_states(self.directory, self.plan, running)
                overview = RunOverview(self.directory, self.plan, running, states, self._verdict_now())
                self._overview = (self._clock_s(), overview, self.directory.state())
            return self._overview[1:]

    def _verdict_now(self) -> Verdict | None:
        file = self.directory.verdict_file
        changed_ns = file.stat().st_mtime_ns if file.exists() else 0
        if changed_ns != self._verdict[0]:
            self._verdict = (changed_ns, self.directory.verdict())
        return self._verdict[1]

    def execution(self, wanted: str | None, overview: RunOverview, document: RunState) -> ExecutionId | None:
        """The execution of this name; without a name the one that runs, else the last that began."""
        known = all_executions(self.plan, document)
        if wanted:
            return next((e for e in known if str(e) == wanted), None)
        begun = [e for e, s in zip(known, overview.executions, strict=False) if s.state != "waiting"]
        running = [e for e, s in zip(known, overview.executions, strict=False) if s.state == "running"]
        return (running or begun)[-1] if begun else None

    def state(self, wanted: str | None = None) -> dict[str, Any]:
        """What the page's head shows: how far the run is, and what may be believed of it so far. Waits for no one who polls."""
        overview, document = self._now()
        shown = self.execution(wanted, overview, document)
        verdict = overview.verdict
        return {
            "run": self.directory.name,
            "word": overview.word,
            "in_progress": overview.in_progress,
            "finished": overview.finished,
            "planned": len(overview.executions),
            "shown": str(shown) if shown else None,
            "executions": [
                {
                    "execution": (name := f"{e.cell}-r{e.repeat}"),
                    "label": self._labels.get(e.cell, e.cell),
                    "repeat": e.repeat,
                    "state": e.state,
                    "reason": e.reason,
                    "started_unix_s": document.executions[name].started_unix_s if name in document.executions else None,
                    "extra": document.executions[name].why if name in document.executions else None,
                }
                for e in overview.executions
            ],
            "verdict": None if verdict is None else {"verdict": verdict.verdict, "headline": verdict.headline},
        }

    def poll(self, execution: ExecutionId) -> LiveTables:
        """Its tables, read again where the last time is long ago. Hold `reading()` while they are used."""
        key = (execution, self._now()[1].of(execution).attempt)
        tables = self._tables.get(key)
        if tables is None:
            tables = self._tables[key] = LiveTables(
                self.directory, execution, every_reading=self.plan.kind == "monitor", outward=self._outward
            )
            tables.unix_minus_mono_ns = self._clock(execution)
            while len(self._tables) > KEPT_EXECUTIONS:
                self._tables.popitem(last=False)
        self._tables.move_to_end(key)
        if self._clock_s() - tables.polled_mono_s >= POLL_S:
            tables.poll()
            tables.polled_mono_s = self._clock_s()
        return tables

    def begin(self) -> None:
        """Read the execution that runs, in a thread, unless that was done before: it is there, or nearly, when the page that is
        being loaded asks for it."""
        if not self._begun:
            self._begun = True
            threading.Thread(target=self._first_look, name=f"first look at {self.directory.name}", daemon=True).start()

    def _first_look(self) -> None:
        with suppress(Exception), self.reading():  # whatever is wrong is said to the page that asks next
            shown = self.state()["shown"]
            if shown is not None:
                self.poll(ExecutionId.parse(shown)).whole()

    def reading(self) -> threading.Lock:
        """Held by the one thread that polls and reads tables."""
        return self._lock

    def so_far(self, execution: ExecutionId, tables: LiveTables) -> dict[str, Any]:
        """Counts, the agents' latest lines, and the reasons that would spoil the execution if it ended now."""
        of, due_s, found = self._judged.get(execution, (None, 0.0, []))
        if of is not tables or self._clock_s() >= due_s:  # another attempt has other tables
            began_s = self._clock_s()
            judged = reasons(tables, execution, self.plan, self._now()[1], self._environment())
            found = [{"weight": r.weight, "code": r.code, "text": r.text, "cause": r.cause} for r in judged]
            ended_s = self._clock_s()
            self._judged[execution] = (tables, ended_s + max(JUDGE_EVERY_S, JUDGE_PAUSE * (ended_s - began_s)), found)
        return {
            "execution": str(execution),
            "counts": counts(tables),
            "agents": [
                {"agent": name, "role": line.get("role"), "second": line.get("second"), "phase": line.get("phase"),
                 "p99_ns": line.get("p99_ns", {}), "cpu_cores": line.get("cpu_cores"), "behind": line.get("behind", 0)}
                for name, line in sorted(tables.latest.items())
            ],
            "reasons": found,
            "unreadable": tables.unreadable,
        }  # fmt: skip

    def _environment(self) -> Environment:
        try:
            return self.directory.environment()
        except (BrokerlabError, OSError):
            return Environment()

    def _clock(self, execution: ExecutionId) -> int:
        facts = self._environment()
        own = facts.cell(execution.cell).executions.get(str(execution.repeat))
        pair = own.clock if own is not None and own.clock is not None else facts.clock.start
        return 0 if pair is None else pair.unix_minus_mono_ns


class Followed:
    """The runs that are watched, by name; the one that was not asked for longest is forgotten."""

    def __init__(self, outward: Callable[[str], str], most: int = 8) -> None:
        self._outward = outward
        self._most = most
        self._runs: OrderedDict[str, FollowedRun] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, directory: RunDirectory) -> FollowedRun:
        with self._lock:
            found = self._runs.get(directory.name)
            if found is None:
                found = self._runs[directory.name] = FollowedRun(directory, self._outward)
            self._runs.move_to_end(directory.name)
            while len(self._runs) > self._most:
                self._runs.popitem(last=False)
            return found
