"""The consumer that speaks for itself follows its partitions to another leader."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka_load import BROKER, agent, cell, consume, publish, soon, started

from brokerlab.brokers.contract import CanLoseANode
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Role
from brokerlab.native import library, why_not


@pytest.mark.slow  # a start of three nodes, and the outage itself
@pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")
def test_a_consumer_reads_on_when_the_leader_is_killed(tmp_path: Path) -> None:
    asked = cell(3, Durability.L2, broker_settings={"broker.session.timeout.ms": "6000"})
    with started(asked, tmp_path) as cluster:
        assert isinstance(cluster, CanLoseANode)
        BROKER.admin(cluster.endpoint(), asked).create(("kept",), 2, ())
        producer = BROKER.producer(agent(Role.PRODUCER, cluster.endpoint(), ("kept",), durability=Durability.L2), 0)
        consumer = BROKER.consumer(agent(Role.CONSUMER, cluster.endpoint(), ("kept",), driver="native"), 0)
        assert consumer.path == "native (Kafka protocol in C)"
        assert set(publish(producer, 200).values()) == {ACKNOWLEDGED}
        got = consume(consumer, 200)
        cluster.kill_node(cluster.leading_node("kept"))
        outcomes = publish(producer, 200, first=200)
        kept = {number for number, outcome in outcomes.items() if outcome == ACKNOWLEDGED}
        assert kept
        got += consume(consumer, len(kept))
        while kept - set(got):
            got += consume(consumer, 1)
        consumer.close(soon())
        producer.close(soon())
