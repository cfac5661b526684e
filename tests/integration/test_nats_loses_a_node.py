"""Three nodes of which one is killed under load: what was acknowledged is there, both paths go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_load import agent_plan, cell_for, deadline, unpack
from contract_servers import Running, running_server

from brokerlab.brokers.contract import CanLoseANode
from brokerlab.brokers.nats.broker import BROKER
from brokerlab.brokers.nats.link import JetStreamError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability

pytestmark = pytest.mark.slow


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    cell = cell_for("nats", 3, Durability.L2, broker_settings={"ack_wait": "5s"})
    with running_server(BROKER, cell, tmp_path) as running:
        yield running


@pytest.mark.parametrize("driver", ["native", "python"])
def test_after_the_leader_is_killed_everything_acknowledged_is_received(running: Running, driver: str) -> None:
    cluster = running.cluster
    assert isinstance(cluster, CanLoseANode)
    name = running.destination("g")
    names = [node.name for node in cluster.nodes()]
    leader = cluster.leading_node(name)
    assert leader in names

    # The producer is connected to the leader itself and loses its connection; the consumer to another node.
    number = names.index(leader)
    producer_plan = agent_plan(running.cell, running.endpoint, (name,)).model_copy(update={"driver": driver})
    consumer_plan = agent_plan(running.cell, running.endpoint, (name,), running.group("g"))
    sender = running.sender(name)
    sender.producer.close(0)
    sender.producer = BROKER.producer(producer_plan, number)
    consumer = BROKER.consumer(consumer_plan.model_copy(update={"driver": driver}), number + 1)
    running._open += [lambda: sender.producer.close(deadline(5)), lambda: consumer.close(deadline(5))]
    got: set[tuple[int, int, int]] = set()

    def poll() -> None:
        some = consumer.receive(500, time.monotonic_ns() + 20_000_000)
        got.update(m.identity for m in unpack(some) if m.intact)
        consumer.acknowledge(some)

    sender.send(500)
    sender.settle()
    until = deadline()
    while len(got) < 500:
        poll()
        assert time.monotonic_ns() < until
    cluster.kill_node(leader)
    assert cluster.dead_nodes() == ()
    _send_until_acknowledged_again(sender, poll)
    assert cluster.leading_node(name) in set(names) - {leader}
    wanted = sum(outcome == ACKNOWLEDGED for outcome in sender.outcomes.values())
    sequences = [_identity(i, running.cell.partitions) for i, o in sender.outcomes.items() if o == ACKNOWLEDGED]
    until = deadline()
    while missing := set(sequences) - got:
        poll()
        assert time.monotonic_ns() < until, f"{len(missing)} of {wanted} acknowledged messages never came"


def _identity(index: int, partitions: int) -> tuple[int, int, int]:
    """As `Sender` numbers them: partitions in turn."""
    return 0, index % partitions, index // partitions


def _send_until_acknowledged_again(sender, poll) -> None:  # type: ignore[no-untyped-def]
    """One message at a time, until fifty sent after the kill have been acknowledged."""
    before = sender.taken
    until = deadline()
    while sum(o == ACKNOWLEDGED for i, o in sender.outcomes.items() if i >= before) < 50:
        sender.send(1)
        for _ in range(5):
            sender.collect()
        poll()
        assert time.monotonic_ns() < until, f"not acknowledged again: {sender.errors}"


def test_asking_for_what_is_not_there_says_so(running: Running) -> None:
    cluster = running.cluster
    assert isinstance(cluster, CanLoseANode)
    with pytest.raises(KeyError):
        cluster.kill_node("nats-9")
    with pytest.raises(JetStreamError, match="not found"):
        cluster.leading_node("never-made")
