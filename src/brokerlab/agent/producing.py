"""The loop of an agent that produces."""

from __future__ import annotations

import time
from collections.abc import Callable

from brokerlab.agent.control import Control
from brokerlab.agent.evidence_process import EvidencePipe
from brokerlab.agent.notes import EvidenceNotes
from brokerlab.agent.seconds import Seconds, say_live
from brokerlab.agent.sender import Sender
from brokerlab.agent.ticks import ticks
from brokerlab.model.plan import AgentPlan

CONTROL_EVERY_NS = 100_000_000
UNCOUNTED = "more messages were due and not sent than could be counted in the send timeout"


class Producing:
    """Wakes at every tick, lets each sender do what is due, writes evidence every second."""

    def __init__(
        self,
        plan: AgentPlan,
        senders: list[Sender],
        control: Control,
        pipe: EvidencePipe,
        notes: EvidenceNotes,
        sleep_until: Callable[[int], int],
    ) -> None:
        self._plan = plan
        self._senders = senders
        self._control = control
        self._pipe = pipe
        self._notes = notes
        self._sleep_until = sleep_until
        self._ticks = ticks(senders, sleep_until)
        self._finish = False
        self._sent_all_ns = 0

    def run(self, start_ns: int, unix_minus_mono_ns: int) -> dict[str, object]:
        """Produce from the agreed start to the end of the measure phase, wait for the last settlements, and return
        what the runner wants to know at the end."""
        for sender in self._senders:
            sender.begin(start_ns, unix_minus_mono_ns)
        now = self._sleep_until(start_ns)
        self._seconds = Seconds(self._plan.phases, start_ns, unix_minus_mono_ns, now)
        self._next_control_ns = now + CONTROL_EVERY_NS
        while not self._finish and not all(s.has_sent_all(now) for s in self._senders):
            now = self._turn(now)
        self._sent_all_ns = now
        if all(s.has_sent_its_number() for s in self._senders):
            self._seconds.end_measure(now)
        now = self._wait_for_the_last(now)
        for sender in self._senders:
            sender.finish(now)
        self._close_second(time.monotonic_ns())
        return self._result()

    def _wait_for_the_last(self, now: int) -> int:
        """Until the last message is settled and what was due but never sent is counted, or the time for that is over."""
        for sender in self._senders:
            sender.end_sending()
        assert self._plan.producers is not None
        patience_ns = now + round((self._plan.producers.send_timeout_s + 1) * 1e9)
        uncounted = list(self._senders)
        # A runner that ends the agent early wants no count of what was due later.
        while not self._finish and now < patience_ns and (uncounted or not all(s.is_settled() for s in self._senders)):
            now = self._turn(now)
            uncounted = [s for s in uncounted if not s.note_the_unsent(self._next_control_ns)]
        if uncounted and not self._finish:
            self._notes.errors({UNCOUNTED: len(uncounted)}, now)
        return now

    def _turn(self, now: int) -> int:
        """Ticks until something else is to be done, and that: once a second, and looking for commands."""
        now = self._ticks.run(now, min(self._seconds.next_ns, self._next_control_ns))
        if now >= self._seconds.next_ns:
            self._close_second(now)
        if now >= self._next_control_ns:
            self._next_control_ns = now + CONTROL_EVERY_NS
            self._pipe.push()
            command = self._control.command()
            if command is not None and command["command"] == "finish":
                self._finish = True
        return now

    def _close_second(self, now: int) -> None:
        totals = dict.fromkeys(("sent", "acknowledged", "rejected", "unknown", "bytes", "buffer_full"), 0)
        in_flight = 0
        for sender in self._senders:
            self._notes.producer(sender.number, sender.take())
            self._notes.errors(sender.take_errors(), now)
            of = sender.totals()
            for name in ("sent", "acknowledged", "rejected", "unknown", "bytes"):
                totals[name] += getattr(of, name)
            totals["buffer_full"] += sender.state.buffer_full
            in_flight += of.in_flight
        totals["ticks"] = self._ticks.count
        levels = {"behind": sum(s.behind(now) for s in self._senders), "in_flight": in_flight}
        say_live(self._control, self._seconds.close(now, [(self._notes, totals)], levels))
        self._pipe.push()

    def _result(self) -> dict[str, object]:
        totals = [s.totals() for s in self._senders]
        return {
            **{name: sum(getattr(t, name) for t in totals) for name in ("sent", "acknowledged", "rejected", "unknown")},
            "sent_all_mono_ns": self._sent_all_ns,
            "highest_acknowledged": [[p, q, last] for (p, q), last in self._notes.highest_acknowledged.items()],
        }
