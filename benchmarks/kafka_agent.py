"""Our side: the agent as a run uses it, every message stamped, timed, verified and written as evidence."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import Round
from benchmarks.machine import Mark, mark, usage
from brokerlab.environment import clock_pair
from brokerlab.load.process import Event, TalkingProcess
from brokerlab.model.plan import AgentPlan

WHO = "brokerlab agent"


class Agent:
    """One agent process, followed from outside."""

    def __init__(self, plan: AgentPlan, log: Path, env: dict[str, str] | None = None) -> None:
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.process = TalkingProcess(plan.agent, "brokerlab.agent", log, self.events)
        self.process.start(plan.model_dump_json(), env)
        ready = self.wait_for("ready")
        self.pids = [self.process.pid, ready.facts["writer_pid"]]
        self.driver: str = ready.facts["driver"]

    def wait_for(self, kind: str, timeout_s: float = 600) -> Event:
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            event = self.events.get(timeout=left)
            if event.kind in (kind, "failed", "ended"):
                if event.kind != kind:
                    raise RuntimeError(f"{event}: {self.process.error_text()}")
                return event
        raise RuntimeError(f"no {kind} in time")

    def start(self) -> None:
        offset = clock_pair().unix_minus_mono_ns
        start = -(-(time.monotonic_ns() + offset + 300_000_000) // 1_000_000_000) * 1_000_000_000 - offset
        self.process.tell("start", start_mono_ns=start, unix_minus_mono_ns=offset)

    def finish(self) -> None:
        """End it now; what is in flight is given up."""
        self.process.tell("finish")
        self.end()

    def end(self) -> None:
        """Wait until it has ended by its plan."""
        self.wait_for("done")
        self.process.stop(10)


def steady_round(agent: Agent, broker_pid: int, counter: str, take: Callable[[int, int], bool]) -> Round:
    """Follow live lines; messages of the seconds that `take(second, total so far)` accepts count, with their CPU."""
    pids = [*agent.pids, broker_pid]
    total = counted = second = 0
    first: Mark | None = None
    last: Mark | None = None
    while True:
        event = agent.wait_for("live")
        now = mark(pids)
        second += 1
        n = int(event.facts.get(counter, 0))
        total += n
        if not take(second, total):
            if first is not None:
                break
            continue
        if first is None:
            first = now  # counting begins with the second that follows
            continue
        counted += n
        last = now
    if first is None or last is None or counted == 0:
        raise RuntimeError("no steady second was seen: the round was too short")
    used = usage(first, last)
    client = sum(used.cpu_ns[p] for p in agent.pids)
    return Round(
        WHO,
        counted,
        counted / used.seconds,
        client / 1e3 / counted,
        used.cpu_ns[broker_pid] / 1e3 / counted,
        used.foreign_cores,
    )
