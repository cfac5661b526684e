"""A real faulty server under a small load: what it says it did is what a reader finds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from contract_load import Received, Sender, agent_plan, cell_for, deadline, unpack

from brokerlab.brokers.contract import Consumer
from brokerlab.brokers.faulty.broker import BROKER, injected
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED
from brokerlab.model.plan import Durability

MESSAGES = 4000
Run = Callable[..., tuple[dict[str, int], dict[str, int]]]


def found(received: list[Received], outcomes: dict[int, int], sent: int) -> dict[str, int]:
    """The delivery table's columns, computed plainly from one consumer's deliveries."""
    intact = Counter(m.identity for m in received if m.intact)
    acknowledged = sum(o == ACKNOWLEDGED for o in outcomes.values())
    rejected = sum(o == REJECTED for o in outcomes.values())
    highest: dict[tuple[int, int], int] = {}
    reordered = 0
    for m in received:
        if m.intact:
            reordered += m.sequence < highest.get((m.producer, m.partition), -1)
            highest[m.producer, m.partition] = max(m.sequence, highest.get((m.producer, m.partition), -1))
    unknown = sent - len(outcomes)
    return {
        "lost": acknowledged - (len(intact) - unknown),
        "duplicated": sum(intact.values()) - len(intact),
        "reordered": reordered,
        "corrupted": sum(not m.intact for m in received),
        "rejected": rejected,
        "unknown": unknown,
        "recovered": unknown,
    }


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    clusters = []

    def _run(messages: int = MESSAGES, **settings: str) -> tuple[dict[str, int], dict[str, int]]:
        cell = cell_for("faulty", 1, Durability.L4, partitions=4, broker_settings=settings)
        assert BROKER.problems(cell) == []
        cluster = BROKER.cluster(cell, tmp_path / "data", tmp_path / "logs")
        clusters.append(cluster)
        cluster.start()
        cluster.wait_ready(deadline())
        BROKER.admin(cluster.endpoint(), cell).create(("d",), 4, ("g",))
        consumer = BROKER.consumer(agent_plan(cell, cluster.endpoint(), ("d",), "g"), 0)
        sender = Sender(BROKER.producer(agent_plan(cell, cluster.endpoint(), ("d",)), 0), 4)
        sender.send(messages)
        received: list[Received] = []
        until = deadline()
        while consumer.remaining() or len(sender.outcomes) < messages - injected(cluster.endpoint())["unknown"]:
            sender.collect()
            some = consumer.receive(1000, time.monotonic_ns() + 20_000_000)
            received += unpack(some)
            consumer.acknowledge(some)
            assert time.monotonic_ns() < until
        did = injected(cluster.endpoint())
        consumer.close(deadline(5))
        sender.producer.close(deadline(5))
        cluster.stop()
        return did, found(received, sender.outcomes, messages)

    yield _run
    for cluster in clusters:
        cluster.stop()
        cluster.clean()


@pytest.mark.parametrize(
    ("setting", "column"),
    [
        ("loss", "lost"),
        ("duplication", "duplicated"),
        ("reordering", "reordered"),
        ("corruption", "corrupted"),
        ("reject", "rejected"),
        ("drop_ack", "unknown"),
    ],
)
def test_each_fault_is_found_exactly_as_often_as_it_was_injected(run: Run, setting: str, column: str) -> None:
    did, saw = run(**{setting: "0.02", "seed": "7"})
    assert did == saw
    assert did[column] > 0


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_all_faults_together_with_delays_are_still_counted_exactly(run: Run, seed: str) -> None:
    shares = dict.fromkeys(("loss", "duplication", "reordering", "corruption", "reject", "drop_ack"), "0.01")
    did, saw = run(**shares, seed=seed, delay="lognormal(1ms, 0.5)")
    assert did == saw
    assert all(count > 0 for count in did.values())


def test_the_same_seed_injects_the_same_and_another_seed_something_else(run: Run) -> None:
    first, _ = run(loss="0.05", duplication="0.05", seed="1")
    again, _ = run(loss="0.05", duplication="0.05", seed="1")
    other, _ = run(loss="0.05", duplication="0.05", seed="2")
    assert first == again
    assert first != other


def test_a_message_that_nothing_overtakes_is_delivered_in_order_and_not_counted(run: Run) -> None:
    did, saw = run(messages=4, reordering="1")
    assert did == saw == dict.fromkeys(did, 0)


def test_without_faults_nothing_is_injected(run: Run) -> None:
    did, saw = run()
    assert did == saw == dict.fromkeys(did, 0)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., tuple[Sender, Consumer]]]:
    """A faulty server with these settings, a sender to it and a consumer on it."""
    endings: list[Callable[[], None]] = []

    def _start(**settings: str) -> tuple[Sender, Consumer]:
        cell = cell_for("faulty", 1, Durability.L4, partitions=4, broker_settings=settings)
        cluster = BROKER.cluster(cell, tmp_path / "data", tmp_path / "logs")
        endings.append(cluster.stop)
        cluster.start()
        cluster.wait_ready(deadline())
        BROKER.admin(cluster.endpoint(), cell).create(("d",), 4, ("g",))
        consumer = BROKER.consumer(agent_plan(cell, cluster.endpoint(), ("d",), "g"), 0)
        producer = BROKER.producer(agent_plan(cell, cluster.endpoint(), ("d",)), 0)
        endings.append(lambda: consumer.close(deadline(5)))
        endings.append(lambda: producer.close(deadline(5)))
        return Sender(producer, 4), consumer

    yield _start
    for end in reversed(endings):
        end()


def test_neither_acknowledgement_nor_delivery_comes_before_the_delay(
    started: Callable[..., tuple[Sender, Consumer]],
) -> None:
    sender, consumer = started(delay="constant(300ms)")
    begun_ns = time.monotonic_ns()
    sender.send(10)
    arrived = consumer.receive(10, deadline())
    assert arrived.arrived_mono_ns - begun_ns >= 300_000_000
    sender.settle()
    settled_ns = time.monotonic_ns()
    assert settled_ns - begun_ns >= 300_000_000
    assert len(arrived) > 0


def test_in_a_stall_nothing_is_answered_until_it_ends(started: Callable[..., tuple[Sender, Consumer]]) -> None:
    sender, _ = started(stall="at 100ms for 700ms")
    first_ns = time.monotonic_ns()  # before the server can have seen the first message
    sender.send(1)
    sender.settle()
    # Keep sending until one message falls into the stall: its answer must not come before the stall's end.
    longest_ns = 0
    until = deadline()
    while time.monotonic_ns() - first_ns < 1_500_000_000:
        sent_ns = time.monotonic_ns()
        sender.send(1)
        sender.settle()
        longest_ns = max(longest_ns, time.monotonic_ns() - sent_ns)
        assert time.monotonic_ns() < until
    assert longest_ns >= 350_000_000
