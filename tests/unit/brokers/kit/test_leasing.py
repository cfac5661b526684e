"""Consumers of queues that are asked again and again."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Sequence

import pytest

import brokerlab.brokers.kit.leasing as kit
from brokerlab.brokers.kit.leasing import Leased, LeasingConsumer
from brokerlab.brokers.kit.refusals import Refusals
from brokerlab.errors import BrokerError
from brokerlab.model import plan as model

PATIENCE_S = 60.0


def plan(acknowledge: str = "batch") -> model.AgentPlan:
    return model.AgentPlan(
        run="r", cell="c", repeat=1, agent="consumer-1", run_tag=1, role=model.Role.CONSUMER, broker="b",
        endpoint=model.Endpoint(addresses=()), destinations=("a", "b"), partitions=1, members=(0,), producers_in_cell=1,
        group="g", consumers=model.ConsumersPlan(groups=1, per_group=1, agents_per_group=1, acknowledge=acknowledge),
        phases=model.PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=1), durability=model.Durability.L4,
        evidence_directory="", seed=1, driver="auto", producers=None, client_settings={"poll_interval": "1ms"},
    )  # fmt: skip


class Stored(LeasingConsumer):
    """Two queues in memory, of a server that may be lost, refuse or hang."""

    lost = ConnectionError
    refusals = Refusals("the store", (), "ask again")

    def __init__(self, acknowledge: str = "batch") -> None:
        self.queues: list[dict[int, int]] = [{}, {}]  # message -> deliveries
        self.leased: set[int] = set()
        self.error: Exception | None = None
        self.answering = threading.Event()
        self.answering.set()
        self.disconnected = threading.Event()
        super().__init__(plan(acknowledge), 0, 2)

    def _take(self, queue: int, most: int) -> list[Leased]:
        assert self.answering.wait(PATIENCE_S)
        if self.error is not None:
            raise self.error
        due = [message for message in self.queues[queue] if message not in self.leased][:most]
        for message in due:
            self.queues[queue][message] += 1
            self.leased.add(message)
        found = [Leased(message, b"%d" % message, self.queues[queue][message] > 1) for message in due]
        if self._automatic:
            self._delete(queue, due)
        return found

    def _delete(self, queue: int, identities: Sequence[Hashable]) -> None:
        for identity in identities:
            del self.queues[queue][identity]  # type: ignore[arg-type]

    def _count(self, queue: int) -> int:
        return len(self.queues[queue])

    def _give_back(self, queue: int, identities: Sequence[Hashable]) -> None:  # noqa: ARG002
        self.leased.difference_update(identities)  # type: ignore[arg-type]

    def _disconnect(self) -> None:
        self.disconnected.set()


def soon(seconds: float = PATIENCE_S) -> int:
    return time.monotonic_ns() + int(seconds * 1e9)


def test_queues_are_asked_in_turn_and_what_is_acknowledged_is_deleted() -> None:
    consumer = Stored()
    consumer.queues[0] = {1: 0, 2: 0}
    consumer.queues[1] = {3: 0}
    got = [consumer.receive(1, soon()) for _ in range(3)]
    assert [bytes(d.buffer[:1]) for d in got if d.buffer is not None] == [b"1", b"3", b"2"]
    assert consumer.remaining() == 3
    for deliveries in got[:2]:
        consumer.acknowledge(deliveries)
    assert consumer.remaining() == 1
    consumer.close(soon())
    assert consumer.leased == {1, 3}, "what was not acknowledged was not given back"
    assert consumer.disconnected.wait(PATIENCE_S)


def test_receive_returns_at_its_deadline_and_the_open_question_is_answered_later() -> None:
    consumer = Stored()
    until = soon(0.05)
    assert len(consumer.receive(5, until)) == 0
    assert time.monotonic_ns() >= until
    consumer.answering.clear()
    consumer.queues[0] = {1: 0}
    consumer.queues[1] = {2: 1}
    assert len(consumer.receive(5, soon(0.05))) == 0
    consumer.answering.set()
    got = [consumer.receive(5, soon()) for _ in range(2)]
    assert sorted(d.redelivered.tolist() for d in got) == [[0], [1]]
    consumer.close(soon())


def test_a_lost_connection_is_asked_again_until_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = Stored()
    consumer.queues[0] = {1: 0}
    consumer.error = ConnectionError("cut")
    assert len(consumer.receive(5, soon(0.05))) == 0
    consumer.error = None
    assert len(consumer.receive(5, soon())) == 1
    consumer.error = ConnectionError("cut for good")
    monkeypatch.setattr(kit, "GIVE_UP_S", 0.01)
    with pytest.raises(BrokerError, match="cut for good"):
        consumer.receive(5, soon())
    consumer.close(soon())


def test_a_refusal_is_raised() -> None:
    consumer = Stored()
    consumer.error = ValueError("no such queue")
    with pytest.raises(BrokerError, match="no such queue"):
        consumer.receive(5, soon())
    consumer.close(soon())


def test_automatic_acknowledgement_counts_what_was_not_handed_out() -> None:
    consumer = Stored("automatic")
    consumer.answering.clear()
    assert len(consumer.receive(5, soon(0.02))) == 0
    consumer.queues[0] = {1: 0, 2: 0}
    consumer.answering.set()
    assert consumer._taking is not None
    consumer._taking.exception(PATIENCE_S)
    assert consumer.remaining() == 2
    assert len(consumer.receive(5, soon())) == 2
    assert consumer.remaining() == 0
    consumer.close(soon())


def test_close_does_not_wait_for_a_server_that_hangs() -> None:
    consumer = Stored()
    consumer.answering.clear()
    consumer.receive(5, soon(0.02))
    begun = time.monotonic()
    consumer.close(soon(0.1))
    assert time.monotonic() - begun < PATIENCE_S
    consumer.answering.set()
