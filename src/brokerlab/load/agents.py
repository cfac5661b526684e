"""All agents of one execution together: started, made ready, set off at one instant, followed, drained, let go."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brokerlab.errors import AgentError, BrokerError, BrokerlabError, DiskFullError, MachineError
from brokerlab.load.drain import Drained, Progress, drained
from brokerlab.load.process import Event, TalkingProcess, stop_all
from brokerlab.model.environment import ClockPair
from brokerlab.model.patience import patience_s
from brokerlab.model.plan import AgentPlan, Role

READY_S = 120.0  # and more where there are many partitions
REPORT_S = 30.0  # likewise
REPORT_EVERY_S = 0.25
START_IN_NS = 600_000_000
SECOND_NS = 1_000_000_000
ERRORS: dict[str, type[BrokerlabError]] = {"DiskFullError": DiskFullError, "MachineError": MachineError}

Watch = Callable[[], None]  # called several times a second; raises to end the execution
Live = Callable[[str, dict[str, Any]], None]  # an agent's name and its live line


class Agents:
    """Agents by name. Methods raise AgentError, DiskFullError or BrokerError when an agent fails or ends too soon."""

    def __init__(self, logs: Path, watch: Watch, live: Live) -> None:
        self._logs = logs
        self._watch = watch
        self._live = live
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._agents: dict[str, TalkingProcess] = {}
        self._plans: dict[str, AgentPlan] = {}
        self._reports: dict[str, dict[str, Progress]] = {}  # by agent and group
        self._started: set[str] = set()  # those that have their plan
        self.sent_bytes = 0  # by producers, until the end of the last second that they told of
        self.drivers: dict[str, str] = {}
        self.done: dict[str, dict[str, Any]] = {}

    def prepare(self, plans: list[AgentPlan]) -> None:
        """Start these processes, which connect to nothing yet: later, while others are measured, that would cost a processor."""
        for plan in plans:
            if plan.agent not in self._agents:
                agent = TalkingProcess(plan.agent, "brokerlab.agent", self._logs / f"{plan.agent}.log", self._events)
                self._agents[plan.agent], self._plans[plan.agent] = agent, plan
                agent.prepare(cores=plan.cores)

    def start(self, plans: list[AgentPlan]) -> None:
        """Start these agents and wait until each has connected (and, for consumers, subscribed)."""
        self.prepare(plans)
        for plan in plans:
            self._agents[plan.agent].start(plan.model_dump_json())
            self._started.add(plan.agent)
        names = {p.agent for p in plans}
        opened = max((_partitions(p) * len(p.members) for p in plans), default=0)
        self._follow(lambda: names <= self.drivers.keys(), patience_s(READY_S, opened), "agents to connect")

    def pids(self) -> dict[str, int]:
        """Process ids of agents that run now."""
        return {name: agent.pid for name, agent in self._agents.items() if agent.is_running()}

    def plans(self) -> dict[str, AgentPlan]:
        """Of all agents started so far."""
        return dict(self._plans)

    def set_off(self, names: list[str], start_mono_ns: int, unix_minus_mono_ns: int) -> None:
        """Tell these agents the agreed instant."""
        for name in names:
            self._agents[name].tell("start", start_mono_ns=start_mono_ns, unix_minus_mono_ns=unix_minus_mono_ns)

    def wait_done(self, names: list[str], within_s: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Until these agents have ended by themselves, their evidence on disk, or until that says so before. Returns
        whether they have ended."""
        ended = set(names).issubset
        self._follow(lambda: ended(self.done) or until(), within_s, "agents to finish")
        return ended(self.done)

    def end_measure(self, names: list[str]) -> None:
        """Tell these agents when the producers had sent everything: then measure ended, if not before."""
        sent_all = [result["sent_all_mono_ns"] for result in self.done.values() if "sent_all_mono_ns" in result]
        for name in names if sent_all else ():
            self._agents[name].tell("measured", end_mono_ns=max(sent_all))

    def finish(self, names: list[str]) -> None:
        """Ask these agents to stop what they do, save and end."""
        for name in names:
            if name in self._started and name not in self.done:
                self._agents[name].tell("finish")

    def drain(self, limit_s: float) -> dict[str, Drained]:
        """Wait until every group has read everything, or the limit has passed. By group."""
        acknowledged = {
            (producer, partition): last
            for result in self.done.values()
            for producer, partition, last in result.get("highest_acknowledged", [])
        }
        messages = sum(result.get("acknowledged", 0) for result in self.done.values())
        groups: dict[str, list[str]] = {}
        for name, plan in self._plans.items():
            if plan.role is Role.CONSUMER and name in self._started:
                for of in plan.by_group():
                    groups.setdefault(of.group or "", []).append(name)
        partitions = max((_partitions(plan) for plan in self._plans.values()), default=0)
        deadline = time.monotonic() + limit_s
        verdicts: dict[str, Drained] = {}
        while True:
            self._reports = {}
            wanted = sorted({n for names in groups.values() for n in names})
            for name in wanted:
                self._agents[name].tell("report")
            # A report may take seconds where a broker answers slowly; the limit is looked at between reports.
            self._follow(self._all_have_reported(wanted), patience_s(REPORT_S, partitions), "consumers to report")
            for group, names in groups.items():
                reports = [self._reports[n][group] for n in names]
                verdicts[group] = drained(acknowledged, _partitions(self._plans[names[0]]), reports, messages)
            if all(v.complete for v in verdicts.values()) or time.monotonic() >= deadline:
                return verdicts
            self._follow(lambda: False, REPORT_EVERY_S, None)

    def _all_have_reported(self, names: list[str]) -> Callable[[], bool]:
        return lambda: set(names) <= self._reports.keys()

    def stop(self, grace_s: float = 8.0) -> None:
        """Let all agents save and end; kill those that do not."""
        stop_all(list(self._agents.values()), grace_s)
        with contextlib.suppress(queue.Empty):
            while True:
                self._take(self._events.get_nowait(), strict=False)

    def _follow(self, until: Callable[[], bool], within_s: float, waiting_for: str | None) -> None:
        """Take events until the condition holds. At the deadline: an error, or nothing when `waiting_for` is None."""
        deadline = time.monotonic() + within_s
        while not until():
            self._watch()
            with contextlib.suppress(queue.Empty):
                self._take(self._events.get(timeout=0.05))
            if time.monotonic() >= deadline:
                if waiting_for is None:
                    return
                missing = tuple(sorted(self._agents.keys() - self.done.keys()))
                text = f"waited {within_s:.0f} s for {waiting_for}; not done: {', '.join(missing)}"
                raise AgentError(text, agents=missing)

    def _take(self, event: Event, *, strict: bool = True) -> None:
        if event.kind == "live":
            if self._plans[event.source].role is Role.PRODUCER:
                self.sent_bytes += event.facts.get("bytes", 0)
            self._live(event.source, event.facts)
        elif event.kind == "ready":
            self.drivers[event.source] = event.facts["driver"]
        elif event.kind == "report":
            self._reports[event.source] = {g: Progress(**of) for g, of in event.facts["groups"].items()}
        elif event.kind == "done":
            self.done[event.source] = event.facts
        elif event.kind == "failed" and strict:
            text = f"{event.source}: {event.facts['message']}"
            error = ERRORS.get(event.facts["kind"], BrokerError if event.facts["exit_code"] == 4 else None)
            raise AgentError(text, agents=(event.source,)) if error is None else error(text)
        elif event.kind == "ended" and event.source not in self.done and strict:
            said = self._agents[event.source].error_text()
            raise AgentError(
                f"{event.source} ended with code {event.facts['exit_code']} before its work was done"
                + (f"\nits last output:\n{said}" if said else ""),
                agents=(event.source,),
            )


def agreed_start(clock: ClockPair) -> tuple[int, int]:
    """A whole UNIX second soon, on the monotonic clock: (start, UNIX minus monotonic)."""
    offset_ns = clock.unix_minus_mono_ns
    unix_ns = time.monotonic_ns() + offset_ns + START_IN_NS
    return -(-unix_ns // SECOND_NS) * SECOND_NS - offset_ns, offset_ns


def _partitions(plan: AgentPlan) -> int:
    """Of all destinations of the cell."""
    return len(plan.destinations) * plan.partitions
