"""Producers and consumers that are watched while tests use them: what the contract says of every call is checked at
every call, in every test."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from brokerlab.brokers.contract import ActsInC, Consumer, NativeCalls, Producer, Watchable
from brokerlab.model.blocks import ACKNOWLEDGED, Block, Deliveries, Settlements

LIMIT_S = 20.0  # a call that must not wait and took longer has waited, however busy the machine
Result = TypeVar("Result")


class _Timed:
    """Calls that must be back in time."""

    def __init__(self, what: Any, clock: Callable[[], int]) -> None:
        self._what = what
        self._clock = clock

    @property
    def path(self) -> str:
        path: str = self._what.path  # it may change: see the consumer that goes on with another library
        return path

    def __getattr__(self, name: str) -> Any:
        return getattr(self._what, name)

    def _in_time(self, call: Callable[..., Result], *arguments: object, until_mono_ns: int = 0) -> Result:
        """`until_mono_ns`: the call may wait until then; otherwise it may not wait at all."""
        latest = max(self._clock(), until_mono_ns) + int(LIMIT_S * 1e9)
        result = call(*arguments)
        late_s = (self._clock() - latest) / 1e9
        assert late_s <= 0, f"{call.__name__} blocked: it was back {late_s + LIMIT_S:.1f} s after it should have been"
        return result

    def close(self, deadline_mono_ns: int) -> None:
        self._in_time(self._what.close, deadline_mono_ns, until_mono_ns=deadline_mono_ns)


class CheckedProducer(_Timed):
    """`send` and `settled` never wait; a message settles at most once, and only if it was taken."""

    def __init__(self, producer: Producer, clock: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(producer, clock)
        self._open: set[int] = set()
        self._settled: set[int] = set()

    def send(self, block: Block) -> int:
        taken: int = self._in_time(self._what.send, block)
        assert 0 <= taken <= len(block), f"{taken} of {len(block)} messages were taken"
        new = range(block.first_index, block.first_index + taken)
        assert not self._open.intersection(new), "the test has given one number to two messages"
        self._open.update(new)
        return taken

    def settled(self) -> Settlements:
        settled: Settlements = self._in_time(self._what.settled)
        indices = settled.indices.tolist()
        assert len(indices) == len(settled.outcomes) == len(settled.at_mono_ns)
        for index in indices:
            assert index not in self._settled, f"message {index} settled twice"
            assert index in self._open, f"message {index} settled and was never taken"
            self._open.remove(index)
            self._settled.add(index)
        unacknowledged = int(np.count_nonzero(settled.outcomes != ACKNOWLEDGED))
        assert sum(settled.errors.values()) == unacknowledged, f"{unacknowledged} not acknowledged: {settled.errors}"
        return settled


class _Watchable(CheckedProducer):
    def watched(self) -> list[tuple[int, bool]]:
        found: list[tuple[int, bool]] = self._in_time(self._what.watched)
        return found


class _ActingInC(CheckedProducer):
    def native_calls(self) -> NativeCalls:
        calls: NativeCalls = self._what.native_calls()
        return calls


def checked_producer(producer: Producer, clock: Callable[[], int] = time.monotonic_ns) -> CheckedProducer:
    """With the optional powers that the producer has."""
    if isinstance(producer, Watchable):
        return _Watchable(producer, clock)
    return _ActingInC(producer, clock) if isinstance(producer, ActsInC) else CheckedProducer(producer, clock)


class CheckedConsumer(_Timed):
    """`receive` is back at its deadline, with no more than was asked for; `acknowledge` does not wait."""

    def __init__(self, consumer: Consumer, clock: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(consumer, clock)

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        deliveries: Deliveries = self._in_time(
            self._what.receive, most, deadline_mono_ns, until_mono_ns=deadline_mono_ns
        )
        assert len(deliveries) <= most, f"{len(deliveries)} messages came where {most} were asked for"
        columns = (deliveries.addresses, deliveries.lengths, deliveries.positions, deliveries.redelivered)
        assert {len(column) for column in columns} == {len(deliveries)}
        return deliveries

    def acknowledge(self, deliveries: Deliveries) -> None:
        self._in_time(self._what.acknowledge, deliveries)
