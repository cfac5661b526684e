"""The loop of an agent that consumes."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from brokerlab.agent.control import Control
from brokerlab.agent.evidence_process import EvidencePipe
from brokerlab.agent.notes import EvidenceNotes
from brokerlab.agent.receiver import Receiver
from brokerlab.agent.seconds import Seconds, say_live
from brokerlab.errors import BrokerError
from brokerlab.model.plan import AgentPlan

CONTROL_EVERY_NS = 20_000_000
WAIT_NS = 20_000_000  # longest wait for a message before commands are looked at again
SHARED_WAIT_NS = 1_000_000  # the same when several consumers take turns


@dataclass(frozen=True)
class HostedGroup:
    """What an agent has of one group: its consumers there, and the group's notes."""

    name: str
    receivers: list[Receiver]
    notes: EvidenceNotes

    def totals(self) -> dict[str, int]:
        of = [r.totals() for r in self.receivers]
        return {name: sum(getattr(t, name) for t in of) for name in ("received", "corrupted", "unexpected", "bytes")}


class Consuming:
    """Receives until told to finish; answers `report` with how far each group is."""

    def __init__(self, plan: AgentPlan, groups: list[HostedGroup], control: Control, pipe: EvidencePipe) -> None:
        self._plan = plan
        self._groups = groups
        receivers = [r for group in groups for r in group.receivers]
        self._receivers = receivers
        self._group_of = [i for i, group in enumerate(groups) for _ in group.receivers]
        self._control = control
        self._pipe = pipe
        self._wait_ns = WAIT_NS if len(receivers) == 1 else SHARED_WAIT_NS
        self._finish = False
        self._ticks = 0
        self._last_arrival_ns = [0] * len(groups)

    def run(self, start_ns: int, unix_minus_mono_ns: int) -> dict[str, object]:
        for receiver in self._receivers:
            receiver.begin(start_ns, unix_minus_mono_ns)
        now = time.monotonic_ns()
        self._seconds = Seconds(self._plan.phases, start_ns, unix_minus_mono_ns, now)
        next_control_ns = now
        try:
            while not self._finish:
                self._receive_once(now)
                now = time.monotonic_ns()
                if now >= self._seconds.next_ns:
                    self._close_second(now)
                if now >= next_control_ns:
                    next_control_ns = now + CONTROL_EVERY_NS
                    self._pipe.push()
                    self._obey(now)
        except BrokerError:
            self._close_second(time.monotonic_ns())  # what arrived before the broker went is evidence as well
            raise
        self._close_second(time.monotonic_ns())
        totals = [group.totals() for group in self._groups]
        return {name: sum(of[name] for of in totals) for name in ("received", "corrupted", "unexpected")}

    def _receive_once(self, now: int) -> None:
        """Ask every consumer without waiting; when none had anything, wait a moment for one of them."""
        self._ticks += 1
        if len(self._receivers) == 1:
            got = {0} if self._receivers[0].receive(now + self._wait_ns) else set()
        else:
            got = {i for i, r in enumerate(self._receivers) if r.receive(0)}
            turn = self._ticks % len(self._receivers)
            if not got and self._receivers[turn].receive(now + self._wait_ns):
                got = {turn}
        if got:
            now = time.monotonic_ns()
            for i in got:
                self._last_arrival_ns[self._group_of[i]] = now

    def _obey(self, now: int) -> None:
        command = self._control.command()
        if command is None:
            return
        if command["command"] == "finish":
            self._finish = True
        elif command["command"] == "measured":
            self._seconds.end_measure(command["end_mono_ns"])
        elif command["command"] == "report":
            of = zip(self._groups, self._last_arrival_ns, strict=True)
            self._control.say("report", groups={group.name: _progress(group, now - last_ns) for group, last_ns in of})

    def _close_second(self, now: int) -> None:
        totals = []
        for group in self._groups:
            for receiver in group.receivers:
                group.notes.consumer(receiver.number, receiver.take())
            totals.append((group.notes, {**group.totals(), "ticks": self._ticks if group is self._groups[0] else 0}))
        say_live(self._control, self._seconds.close(now, totals, {}))


def _progress(group: HostedGroup, quiet_ns: int) -> dict[str, object]:
    """How far one group is, as load.drain.Progress has it."""
    return {
        "highest": np.maximum.reduce([r.highest() for r in group.receivers]).tolist(),
        "remaining": [r.client.remaining() for r in group.receivers],
        "quiet_ns": quiet_ns,
        "received": group.totals()["received"],
    }
