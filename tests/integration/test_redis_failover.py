"""A Valkey cluster 3 x (1 + 2) that loses the master of a stream while it is loaded: a replica takes over."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from contract_load import cell_for, deadline, unpack
from contract_servers import running_server

from brokerlab.brokers.contract import CanLoseANode, Consumer
from brokerlab.brokers.redis.broker import VALKEY_CLUSTER
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability

PARTITIONS = 12


@pytest.mark.slow
def test_a_replica_takes_over_and_what_was_acknowledged_by_wait_is_delivered(tmp_path: Path) -> None:
    cell = cell_for("valkey-cluster", 9, Durability.L2, partitions=PARTITIONS)
    with running_server(VALKEY_CLUSTER, cell, tmp_path) as running:
        cluster = running.cluster
        assert isinstance(cluster, CanLoseANode)
        name = running.destination("g")
        assert running.admin.effective_settings((name,))[name]["masters"] == "3", "streams are spread"
        consumer, sender = running.consumer("g", name), running.sender(name)
        sender.send(600)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}
        killed = cluster.leading_node(name)
        cluster.kill_node(killed)
        assert leader_after(cluster, name, killed) in {n.name for n in cluster.nodes()} - {killed}
        sender.send(600)
        sender.settle()
        sender.send(600)
        outcomes = sender.settle()
        assert [outcomes[i] for i in range(1200, 1800)] == [ACKNOWLEDGED] * 600, sender.errors
        wanted = {(0, i % PARTITIONS, i // PARTITIONS) for i, o in outcomes.items() if o == ACKNOWLEDGED}
        assert len(wanted) >= 1200
        seen = received_until(consumer, wanted)
        assert wanted <= seen, f"{len(wanted - seen)} acknowledged messages are lost"


def received_until(consumer: Consumer, wanted: set[tuple[int, int, int]]) -> set[tuple[int, int, int]]:
    """Everything that arrives until `wanted` has, or nothing remains."""
    until = deadline()
    seen: set[tuple[int, int, int]] = set()
    while not wanted <= seen and time.monotonic_ns() < until:
        deliveries = consumer.receive(500, time.monotonic_ns() + 200_000_000)
        messages = unpack(deliveries)
        assert all(m.intact for m in messages)
        seen |= {m.identity for m in messages}
        consumer.acknowledge(deliveries)
        if not messages and consumer.remaining() == 0:
            break
    return seen


def leader_after(cluster: CanLoseANode, destination: str, killed: str) -> str:
    until = deadline()
    while True:
        try:
            leader = cluster.leading_node(destination)
        except BrokerError:
            leader = killed
        if leader != killed:
            return leader
        assert time.monotonic_ns() < until, "no node took over"
        time.sleep(0.1)
