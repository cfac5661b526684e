"""Many nodes with small heaps on one machine: they replicate, and nothing in them dies quietly."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from kafka_load import BROKER, agent, cell, consume, publish, soon, started

from brokerlab.brokers.contract import Cluster
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Role

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("nodes", [6, 9])
@pytest.mark.timeout(900)
def test_small_heaps_carry_every_level_and_the_log_cleaner_lives(nodes: int, tmp_path: Path) -> None:
    with started(cell(nodes, Durability.L1), tmp_path) as cluster:
        for level in Durability:
            topic = f"level-{level}"
            admin = BROKER.admin(cluster.endpoint(), cell(nodes, level))
            admin.create((topic,), 2, ())
            assert admin.durability((topic,)).level == level
            producer = BROKER.producer(agent(Role.PRODUCER, cluster.endpoint(), (topic,), durability=level), 0)
            assert publish(producer, 200) == dict.fromkeys(range(200), ACKNOWLEDGED)
            producer.close(soon())
            consumer = BROKER.consumer(agent(Role.CONSUMER, cluster.endpoint(), (topic,)), 0)
            assert sorted(consume(consumer, 200)) == list(range(200))
            consumer.close(soon())
        assert _dead_cleaners(cluster) == {f"broker:kafka-{number}": 0.0 for number in range(1, nodes + 1)}
        assert cluster.dead_nodes() == ()
        logs = {path.name: path.read_text(errors="replace") for path in (tmp_path / "logs").iterdir()}
        assert len(logs) == nodes
        assert [name for name, text in logs.items() if "OutOfMemoryError" in text] == []
        controllers = [name for name in logs if _controls(tmp_path, name)]
        assert len(controllers) == 3


def _dead_cleaners(cluster: Cluster) -> dict[str, float]:
    """What every node says; a probe leaves out nodes that are slow to answer, so it reads more than once."""
    probe = BROKER.probe(cluster.endpoint(), cluster.nodes())
    assert probe is not None
    found: dict[str, float] = {}
    until = soon()
    while len(found) < len(cluster.nodes()):
        assert time.monotonic_ns() < until, f"only {sorted(found)} answer"
        found |= {r.subject: r.value for r in probe.read() if r.metric == "dead_log_cleaner_threads"}
    return found


def _controls(directory: Path, log: str) -> bool:
    properties = directory / "data" / log.removesuffix(".log") / "server.properties"
    return "process.roles=broker,controller\n" in properties.read_text()
