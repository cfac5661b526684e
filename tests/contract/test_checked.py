"""What watches the drivers can fail: drivers that break the contract are found out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checked import LIMIT_S, CheckedConsumer, checked_producer

from brokerlab.brokers.contract import Watchable
from brokerlab.model.blocks import ACKNOWLEDGED, NOTHING_SETTLED, UNKNOWN, Block, Deliveries, Settlements

Clock = Callable[[], int]


class Breaking:
    """Both kinds of driver. A call takes `takes_s` on a clock of its own."""

    path = "test"

    def __init__(self, takes_s: float = 0.0, settles: tuple[int, ...] = (), outcome: int = ACKNOWLEDGED) -> None:
        self.now_ns = 0
        self._takes_ns = int(takes_s * 1e9)
        self._settles, self._outcome = settles, outcome

    def clock(self) -> int:
        return self.now_ns

    def send(self, block: Block) -> int:
        self.now_ns += self._takes_ns
        return len(block)

    def settled(self) -> Settlements:
        self.now_ns += self._takes_ns
        n = len(self._settles)
        if not n:
            return NOTHING_SETTLED
        return Settlements(np.array(self._settles), np.full(n, self._outcome, np.uint8), np.zeros(n, np.int64))

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:  # noqa: ARG002
        self.now_ns += self._takes_ns
        return Deliveries.from_payloads([b"one", b"two"], 0)

    def acknowledge(self, deliveries: Deliveries) -> None:  # noqa: ARG002
        self.now_ns += self._takes_ns

    def close(self, deadline_mono_ns: int) -> None:  # noqa: ARG002
        self.now_ns += self._takes_ns


def block(count: int) -> Block:
    ones = np.ones(count, np.int32)
    return Block(np.zeros(count, np.uint8), np.arange(count, dtype=np.int64), ones, 0 * ones, 0)


def producer(driver: Any) -> Any:
    made = checked_producer(driver, driver.clock)
    assert made.send(block(2)) == 2
    return made


@pytest.mark.parametrize(("settles", "said"), [((0, 0), "settled twice"), ((2,), "never taken")])
def test_a_message_that_settles_twice_or_was_not_taken_is_found(settles: tuple[int, ...], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        producer(Breaking(settles=settles)).settled()


def test_a_message_that_settles_again_later_is_found() -> None:
    watched = producer(Breaking(settles=(1,)))
    watched.settled()
    with pytest.raises(AssertionError, match="settled twice"):
        watched.settled()


def test_an_unknown_outcome_without_its_error_is_found() -> None:
    with pytest.raises(AssertionError, match="1 not acknowledged"):
        producer(Breaking(settles=(1,), outcome=UNKNOWN)).settled()


def test_calls_that_wait_are_found() -> None:
    slow = Breaking(takes_s=LIMIT_S + 1)
    watched, consumer = checked_producer(slow, slow.clock), CheckedConsumer(slow, slow.clock)
    nothing = Deliveries.from_payloads([], 0)
    for call in (
        lambda: watched.send(block(1)),
        watched.settled,
        lambda: watched.close(0),
        lambda: consumer.receive(2, 0),
        lambda: consumer.acknowledge(nothing),
        lambda: consumer.close(0),
    ):
        with pytest.raises(AssertionError, match="blocked"):
            call()


def test_a_call_may_take_until_its_deadline_and_no_longer() -> None:
    patient = Breaking(takes_s=LIMIT_S + 1)
    consumer = CheckedConsumer(patient, patient.clock)
    assert len(consumer.receive(2, int(2e9))) == 2


def test_more_messages_than_asked_for_are_found() -> None:
    driver = Breaking()
    with pytest.raises(AssertionError, match="2 messages came where 1 were asked for"):
        CheckedConsumer(driver, driver.clock).receive(1, 0)


def test_a_watched_producer_keeps_the_powers_it_has_and_gets_no_others() -> None:
    class Socketed(Breaking):
        def watched(self) -> list[tuple[int, bool]]:
            return [(7, False)]

    with_socket, without = Socketed(), Breaking()
    assert isinstance(checked_producer(with_socket, with_socket.clock), Watchable)
    assert not isinstance(checked_producer(without, without.clock), Watchable)
