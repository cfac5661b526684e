"""Connections that are lost and made anew, with links that fail when told to."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from brokerlab.brokers.kit import reconnecting
from brokerlab.brokers.kit.reconnecting import ReconnectingConsumer
from brokerlab.brokers.rabbitmq.stream import NOT_AVAILABLE, StreamRefusedError
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, no_deliveries

PLAN: Any = SimpleNamespace(
    endpoint=SimpleNamespace(addresses=("a:1", "b:2"), security=None),
    agent="consumer-1",
    group="g",
    consumers=SimpleNamespace(acknowledge="batch"),
    outage_s=0.0,
)


class FakeLink:
    """Stands for a connection; `lost` makes the next use of it fail."""

    made: ClassVar[list[FakeLink]] = []

    def __init__(self, address: str, *_: object) -> None:
        self.address, self.lost, self.abandoned = address, False, False
        FakeLink.made.append(self)

    @classmethod
    def open(cls, endpoint: Any, _name: str, first: int) -> FakeLink:
        return cls(cls.addresses(endpoint, first)[0])

    @staticmethod
    def addresses(endpoint: Any, first: int) -> list[str]:
        return [endpoint.addresses[first % 2]]

    def pump(self) -> bool:
        if self.lost:
            raise ConnectionResetError
        return False

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def abandon(self) -> None:
        self.abandoned = True

    def close(self, _deadline: int) -> None:
        self.lost = True


class Consumer(ReconnectingConsumer[Any, str]):
    """A message comes with every subscription, the first thing of which fails `failures` times."""

    link_class = FakeLink

    def __init__(self, failures: int = 0, failure: OSError | None = None) -> None:
        super().__init__(PLAN, 0)
        self.failures, self.failure = failures, failure or OSError("the second queue cannot be read")
        self.handed: list[str] = []
        self._start_reading()

    def _begin(self, link: FakeLink) -> None:
        self._arrived.append(link.address)
        if self.failures:
            self.failures -= 1
            raise self.failure

    def acknowledge(self, deliveries: Deliveries) -> None:
        raise NotImplementedError

    def remaining(self) -> int | None:
        raise NotImplementedError

    def _hand_out(self, most: int) -> Deliveries:  # noqa: ARG002
        assert self._link is not None
        self.handed.append(self._arrived.popleft())
        return no_deliveries(time.monotonic_ns())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnecting, "RECONNECT_EVERY_S", 0.001)
    FakeLink.made.clear()


@pytest.fixture
def consumer() -> Consumer:
    return Consumer()


def soon(seconds: float = 60) -> int:
    return time.monotonic_ns() + int(seconds * 1e9)


def test_a_lost_connection_is_made_anew_to_the_next_address_and_its_messages_are_forgotten(consumer: Consumer) -> None:
    FakeLink.made[0].lost = True
    consumer.receive(1, soon())
    consumer.receive(1, soon(0.05))
    assert consumer.handed == ["b:2"]
    assert [link.abandoned for link in FakeLink.made] == [True, False]


def test_what_came_with_a_subscription_that_failed_is_not_handed_out(consumer: Consumer) -> None:
    FakeLink.made[0].lost, consumer.failures = True, 2
    consumer.receive(1, soon())
    assert consumer.handed == ["b:2"], "the third attempt after a:1 was lost: b:2, a:1, b:2"
    assert [link.abandoned for link in FakeLink.made] == [True, True, True, False]


def test_failing_for_long_is_the_brokers_error(consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnecting, "GIVE_UP_S", 0.05)
    FakeLink.made[0].lost, consumer.failures = True, 1 << 30
    with pytest.raises(BrokerError, match=r"the group g could not be read for 0 s: the second queue"):
        consumer.receive(1, soon())


def test_failing_as_long_as_a_planned_outage_may_last_is_no_error(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconnecting, "GIVE_UP_S", 0.01)
    consumer._outage_s = 3600.0
    FakeLink.made[0].lost, consumer.failures = True, 1 << 30
    assert len(consumer.receive(1, soon(0.3)).lengths) == 0


def test_a_closed_one_connects_no_more(consumer: Consumer) -> None:
    consumer.receive(1, soon())
    consumer.close(soon())
    assert len(consumer.receive(1, soon(0.05)).lengths) == 0
    assert len(FakeLink.made) == 1


def test_a_stream_that_is_not_available_yet_is_asked_again_by_the_first_connection() -> None:
    consumer = Consumer(3, StreamRefusedError("request 7", NOT_AVAILABLE))
    consumer.receive(1, soon())
    assert consumer.handed == ["a:1"]
    assert [link.abandoned for link in FakeLink.made] == [True, True, True, False]


def test_one_that_never_becomes_available_is_the_brokers_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnecting, "NOT_YET_S", 0.05)
    with pytest.raises(BrokerError, match=r"the group g cannot be read: request 7: 6 stream not available"):
        Consumer(1 << 30, StreamRefusedError("request 7", NOT_AVAILABLE))


def test_any_other_refusal_is_final() -> None:
    with pytest.raises(BrokerError, match=r"the group g cannot be read: request 7: 16 access refused"):
        Consumer(1 << 30, StreamRefusedError("request 7", 16))
    assert len(FakeLink.made) == 1
