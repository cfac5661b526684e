"""STOMP drivers and a server whose frames are damaged: outcomes and lost connections, never another error."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from damaged_wire import DAMAGES, MESSAGES, Damage, Server, check_consumer, check_producer, speaking_to
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit import stomp_frames
from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.brokers.kit.stomp_drivers import StompConsumer, StompProducer
from brokerlab.brokers.kit.stomp_frames import FrameReader, frame
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN
from brokerlab.model.plan import Endpoint

OUTCOMES = OutcomeTable(rejected="not.Allowed", unknown="disk.Full")


class StompServer(Server):
    """Confirms with RECEIPT or, of every `refuses`-th message, with ERROR. A subscription gets three messages."""

    def __init__(self, inside: Sequence[Damage] = (), outside: Sequence[Damage] = (), refuses: int = 0) -> None:
        super().__init__(inside, outside)
        self._refuses = refuses

    def answers(self, data: bytes) -> list[bytes]:
        _, frames = FrameReader().feed(data)
        found = []
        for one in frames:
            receipt = one.header(b"receipt")
            if one.command == b"CONNECT":
                found.append(frame("CONNECTED", {"version": "1.2"}))
            elif receipt is not None:
                refused = self._refuses and receipt.isdigit() and int(receipt) % self._refuses == 0
                found.append(self._error(receipt) if refused else self._receipt(receipt))
            if one.command == b"SUBSCRIBE":
                found += [self._message(number) for number in range(3)]
        return found

    def _receipt(self, number: bytes) -> bytes:
        return b"RECEIPT\nreceipt-id:%b\n\n\0\n" % self.damaged(number)

    def _error(self, number: bytes) -> bytes:
        return b"ERROR\nreceipt-id:%b\nmessage:no\n\nnot.Allowed: no\0" % self.damaged(number)

    def _message(self, number: int) -> bytes:
        length = self.damaged(b"8")
        return b"MESSAGE\nsubscription:0\nack:%d\ncontent-length:%b\n\n%8d\0\n" % (number, length, number)


def plan(acknowledge: str = "each") -> Any:
    consumers = SimpleNamespace(acknowledge=acknowledge)
    return SimpleNamespace(
        endpoint=Endpoint(addresses=("server:1",)), agent="a", group="g", consumers=consumers, outage_s=0.0
    )


def producer() -> StompProducer:
    return StompProducer(plan(), 0, ["/queue/a", "/queue/b"], {"persistent": "true"}, OUTCOMES, 1 << 20)


class Consumer(StompConsumer):
    def __init__(self) -> None:
        super().__init__(plan(), 0)
        self._start_reading()

    def _subscriptions(self) -> list[dict[str, str]]:
        return [{"destination": "/queue/a"}]

    def _waiting(self) -> int | None:
        return 0


@given(DAMAGES, DAMAGES, st.sampled_from([0, 2]))
def test_a_producer_takes_any_damage_for_a_lost_connection(
    inside: list[Damage], outside: list[Damage], refuses: int
) -> None:
    with speaking_to(lambda: StompServer(inside, outside, refuses)):
        check_producer(producer)


@given(DAMAGES, DAMAGES)
def test_a_consumer_takes_any_damage_for_a_lost_connection(inside: list[Damage], outside: list[Damage]) -> None:
    with speaking_to(lambda: StompServer(inside, outside)):
        check_consumer(Consumer)


def test_the_server_of_these_tests_is_understood_when_nothing_is_damaged() -> None:
    with speaking_to(lambda: StompServer(refuses=2)):
        assert check_producer(producer) == {ACKNOWLEDGED: 3, REJECTED: 2}
        assert check_consumer(Consumer) == 3


@pytest.mark.parametrize("number", [b"9" * 5000, b"9223372036854775808"])
def test_a_receipt_that_was_never_asked_for_loses_the_connection(number: bytes) -> None:
    """Also where it is too long a number for Python, or for a column of 64 bits."""
    with speaking_to(lambda: StompServer([lambda _: number])):
        assert check_producer(producer) == {UNKNOWN: 1, ACKNOWLEDGED: MESSAGES - 1}
    with speaking_to(lambda: StompServer([lambda _: number], refuses=1)):
        assert check_producer(producer) == {UNKNOWN: MESSAGES}


@pytest.mark.parametrize("length", [b"9" * 5000, b"%d" % (stomp_frames.MOST_BODY_BYTES + 1), b"-1", b"x", b""])
def test_a_body_of_impossible_length_is_not_waited_for(length: bytes) -> None:
    with pytest.raises(OSError, match="unreadable"):
        FrameReader().feed(b"MESSAGE\ncontent-length:%b\n\nabc" % length)


def test_a_body_without_a_length_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stomp_frames, "MOST_BODY_BYTES", 1000)
    reader = FrameReader()
    assert reader.feed(b"MESSAGE\n\n" + b"x" * 1000) == ([], [])
    with pytest.raises(OSError, match="too long"):
        reader.feed(b"x")
