"""The ticks of a producing agent: step every sender, sleep, again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from brokerlab.agent.sender import IDLE_NS, Sender
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

    def run(self, now_ns: int, until_ns: int) -> int:
        self.count += 1
        for sender in self._senders:
            sender.step(now_ns)
        earliest = now_ns + min(s.state.tick_ns for s in self._senders)
        if not any(s.wants_soon() for s in self._senders):
            soonest = min(s.next_due_ns() for s in self._senders)
            earliest = max(earliest, min(soonest, now_ns + IDLE_NS))
        return self._sleep_until(min(earliest, max(until_ns, now_ns)))


def ticks(senders: Sequence[Sender], sleep_until: Callable[[int], int]) -> Ticks:
    native = [s for s in senders if isinstance(s, NativeSender)]
    return NativeTicks(native) if len(native) == len(senders) else PythonTicks(senders, sleep_until)
