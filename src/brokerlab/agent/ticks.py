"""The ticks of a producing agent: step every sender, sleep, again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from brokerlab.agent.pacer import waiter
from brokerlab.agent.sender import FULL_NS, IDLE_NS, Sender
from brokerlab.agent.sender_native import NativeSender, NativeTicks


class Ticks(Protocol):
    @property
    def count(self) -> int: ...

    def run(self, now_ns: int, until_ns: int) -> int:
        """Tick at least once, at most until `until_ns`; returns the time after."""


class PythonTicks:
    """One tick at a time, for any driver."""

    def __init__(self, senders: Sequence[Sender], sleep_until: Callable[[int], int]) -> None:
        self.count = 0
        self._senders = senders
        self._sleep_until = sleep_until
        self._wait = waiter()

    def run(self, now_ns: int, until_ns: int) -> int:
        self.count += 1
        turn_ns = now_ns
        for sender in self._senders:
            sender.step(turn_ns, until_ns)
            turn_ns = time.monotonic_ns()  # not when the first of many began: what is sent now is scheduled now
        tick_ns = min(s.state.tick_ns for s in self._senders)
        if all(s.is_full for s in self._senders):
            return self._wait_for_room(turn_ns + tick_ns, turn_ns + FULL_NS, max(until_ns, now_ns))
        soonest_ns = min(s.next_due_ns() for s in self._senders)
        awaited = [s for s in self._senders if s.state.in_flight]
        # Where messages are so sparse that answers come between them, an answer ends the wait: each is timed when it
        # comes, with fewer wakings than ticks. Where they are dense, ticks gather several in one waking.
        if soonest_ns > now_ns + 2 * tick_ns:
            sockets = [s.watched() for s in awaited]
            if None not in sockets:
                wake_ns = min(soonest_ns, now_ns + IDLE_NS, max(until_ns, now_ns))
                return self._wait([socket for of in sockets for socket in of or ()], wake_ns)
        wake_ns = now_ns + tick_ns if awaited else max(now_ns + tick_ns, soonest_ns)
        return self._sleep_until(min(wake_ns, max(until_ns, now_ns)))

    def _wait_for_room(self, soonest_ns: int, latest_ns: int, until_ns: int) -> int:
        """Offering again at every tick what a full client does not take would cost the broker the processor that it
        needs. Answers are gathered for a tick at least."""
        sockets = [s.watched_for_room() for s in self._senders]
        if None in sockets or [] in sockets:  # one cannot say, or has no connection
            return self._sleep_until(min(latest_ns, until_ns))
        self._sleep_until(min(soonest_ns, until_ns))
        return self._wait([socket for of in sockets for socket in of or ()], min(latest_ns, until_ns))


def ticks(senders: Sequence[Sender], sleep_until: Callable[[int], int]) -> Ticks:
    native = [s for s in senders if isinstance(s, NativeSender)]
    return NativeTicks(native) if len(native) == len(senders) else PythonTicks(senders, sleep_until)
