"""kill -9 of the leading node of three, under load: nothing that was confirmed is lost, and another takes over."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from rabbitmq_load import BROKERS, GROUP, PARTITIONS, agent, block, cell, numbers, soon, started

from brokerlab.brokers.contract import CanLoseANode
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED

pytestmark = pytest.mark.slow
AFTER = 500  # messages that must be confirmed after the kill


@pytest.mark.parametrize("kind", ["quorum", "stream"])
def test_what_was_confirmed_survives_the_death_of_the_leader(kind: str, tmp_path: Path) -> None:
    broker, plan = BROKERS[kind], cell(kind, 3)
    with started(plan, tmp_path) as cluster, ExitStack() as stack:
        assert isinstance(cluster, CanLoseANode)
        with pytest.raises(KeyError):
            cluster.kill_node("rabbitmq-9")
        broker.admin(cluster.endpoint(), plan).create(("d",), PARTITIONS, (GROUP,))
        producer = broker.producer(agent(kind, "producer", cluster.endpoint(), "d"), 0)
        stack.callback(producer.close, soon())
        consumer = broker.consumer(agent(kind, "consumer", cluster.endpoint(), "d"), 0)
        stack.callback(consumer.close, soon())
        outcomes: dict[int, int] = {}
        received: set[int] = set()
        sent, killed, confirmed_then = 0, None, 0
        until = soon()
        while killed is None or _acknowledged(outcomes) < confirmed_then + AFTER:
            assert time.monotonic_ns() < until, f"{len(outcomes)} of {sent} settled"
            if sent - len(outcomes) < 200:
                sent += producer.send(block(sent, 20))
            settled = producer.settled()
            for index, outcome in zip(settled.indices.tolist(), settled.outcomes.tolist(), strict=True):
                assert index not in outcomes
                outcomes[index] = outcome
            some = consumer.receive(100, time.monotonic_ns() + 1_000_000)
            received.update(numbers(some))
            consumer.acknowledge(some)
            if killed is None and _acknowledged(outcomes) >= AFTER:
                killed = cluster.leading_node("d")
                cluster.kill_node(killed)
                confirmed_then = _acknowledged(outcomes)
        assert cluster.dead_nodes() == (), "it was no accident"
        wanted = {i for i, outcome in outcomes.items() if outcome == ACKNOWLEDGED}
        while not wanted <= received:
            assert time.monotonic_ns() < until, f"lost: {sorted(wanted - received)[:10]}"
            some = consumer.receive(100, time.monotonic_ns() + 10**8)
            received.update(numbers(some))
            consumer.acknowledge(some)
        # A publisher that ended with its leader refuses, which is final: such messages are nowhere.
        assert not received & {i for i, outcome in outcomes.items() if outcome == REJECTED}
        assert _leader(cluster) != killed


def _acknowledged(outcomes: dict[int, int]) -> int:
    return sum(outcome == ACKNOWLEDGED for outcome in outcomes.values())


def _leader(cluster: CanLoseANode) -> str:
    until = soon()
    while True:
        try:
            return cluster.leading_node("d")
        except BrokerError:
            assert time.monotonic_ns() < until
            time.sleep(0.2)
