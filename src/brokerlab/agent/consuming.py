"""The loop of an agent that consumes."""

from __future__ import annotations

import time

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


class Consuming:
    """Receives until told to finish; answers `report` with how far it is."""

    def __init__(
        self, plan: AgentPlan, receivers: list[Receiver], control: Control, pipe: EvidencePipe, notes: EvidenceNotes
    ) -> None:
        self._plan = plan
        self._receivers = receivers
        self._control = control
        self._pipe = pipe
        self._notes = notes
        self._wait_ns = WAIT_NS if len(receivers) == 1 else SHARED_WAIT_NS
        self._finish = False
        self._ticks = 0
        self._last_arrival_ns = 0

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
        totals = [r.totals() for r in self._receivers]
        return {name: sum(getattr(t, name) for t in totals) for name in ("received", "corrupted", "unexpected")}

    def _receive_once(self, now: int) -> None:
        """Ask every consumer without waiting; when none had anything, wait a moment for one of them."""
        self._ticks += 1
        if len(self._receivers) == 1:
            got = self._receivers[0].receive(now + self._wait_ns)
        else:
            got = sum(r.receive(0) for r in self._receivers)
            if not got:
                got = self._receivers[self._ticks % len(self._receivers)].receive(now + self._wait_ns)
        if got:
            self._last_arrival_ns = time.monotonic_ns()

    def _obey(self, now: int) -> None:
        command = self._control.command()
        if command is None:
            return
        if command["command"] == "finish":
            self._finish = True
        elif command["command"] == "measured":
            self._seconds.end_measure(command["end_mono_ns"])
        elif command["command"] == "report":
            highest = np.maximum.reduce([r.highest() for r in self._receivers])
            remaining = [r.client.remaining() for r in self._receivers]
            self._control.say(
                "report",
                highest=highest.tolist(),
                remaining=remaining,
                quiet_ns=now - self._last_arrival_ns,
                received=sum(r.totals().received for r in self._receivers),
            )

    def _close_second(self, now: int) -> None:
        totals = dict.fromkeys(("received", "corrupted", "unexpected", "bytes"), 0)
        for receiver in self._receivers:
            self._notes.consumer(receiver.number, receiver.take())
            of = receiver.totals()
            for name in totals:
                totals[name] += getattr(of, name)
        totals["ticks"] = self._ticks
        say_live(self._control, self._seconds.close(now, totals, {}, self._notes))
