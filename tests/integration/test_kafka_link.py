"""Three Kafka nodes behind capped links: clients follow the metadata to them, and so do the nodes themselves."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from kafka_load import BROKER, agent, cell, consume, publish, soon

from brokerlab.brokers.contract import HasLinks
from brokerlab.install.cache import silent
from brokerlab.machine.link import passed_bytes
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, MachinePlan, Role


@pytest.mark.slow
def test_everything_passes_through_the_links_of_three_nodes(tmp_path: Path) -> None:
    asked = cell(3, Durability.L2, machine=MachinePlan(link_bytes_per_s=50_000_000))
    assert BROKER.problems(asked) == []
    assert BROKER.install(silent).runs_here
    cluster = BROKER.cluster(asked, tmp_path / "data", tmp_path / "logs")
    with ExitStack() as stack:
        stack.callback(cluster.clean)
        stack.callback(cluster.stop)
        cluster.start()
        cluster.wait_ready(soon())
        assert isinstance(cluster, HasLinks)
        links = cluster.links()
        assert [link.name for link in links] == ["link-1", "link-2", "link-3"]
        endpoint = cluster.endpoint()
        BROKER.admin(endpoint, asked).create(("linked",), 3, ())
        before = [passed_bytes(Path(link.counts)) for link in links]
        producer = BROKER.producer(agent(Role.PRODUCER, endpoint, ("linked",), partitions=3), 0)
        stack.callback(producer.close, soon())
        assert publish(producer, 3000, partitions=3) == dict.fromkeys(range(3000), ACKNOWLEDGED)
        consumer = BROKER.consumer(agent(Role.CONSUMER, endpoint, ("linked",), partitions=3), 0)
        stack.callback(consumer.close, soon())
        assert sorted(consume(consumer, 3000)) == list(range(3000))
        after = [passed_bytes(Path(link.counts)) for link in links]
        to_nodes = sum(b[0] - a[0] for a, b in zip(before, after, strict=True))
        from_nodes = sum(b[1] - a[1] for a, b in zip(before, after, strict=True))
        assert to_nodes > 3000 * 100
        assert from_nodes > 3 * 3000 * 100  # to the consumer, and to the two other replicas of each message
    assert cluster.dead_nodes() == ()
