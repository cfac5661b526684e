"""ZooKeeper, three bookies and two brokers at L1: level, figures, and the loss of a broker and of a bookie."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from contract_load import cell_for, deadline, receive
from contract_servers import Running, running_server

from brokerlab.brokers.contract import CanLoseANode
from brokerlab.brokers.pulsar.broker import BROKER
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN
from brokerlab.model.plan import Durability

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
CELL = cell_for("pulsar", 3, Durability.L1)
NODES = {"pulsar-zookeeper", *(f"pulsar-bookie-{i}" for i in (1, 2, 3)), *(f"pulsar-broker-{i}" for i in (1, 2))}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with running_server(BROKER, CELL, tmp_path) as running:
        yield running


def test_a_replicated_cluster_outlives_its_leading_broker_and_then_a_bookie(running: Running) -> None:
    assert {n.name for n in running.cluster.nodes()} == NODES
    _listens_on_loopback_only(running)
    name = running.destination("g")
    because = running.admin.durability((name,)).because
    assert because == {
        "ensemble": "3",
        "write_quorum": "3",
        "ack_quorum": "2",
        "bookies_asked": "3 of 3",
        "journalSyncData": "true",
        "journalWriteData": "true",
    }
    probe = BROKER.probe(running.cluster.endpoint(), running.cluster.nodes())
    assert probe is not None
    assert {r.subject.split(":", 1)[1] for r in probe.read()} == NODES

    cluster = running.cluster
    assert isinstance(cluster, CanLoseANode)
    with pytest.raises(KeyError):
        cluster.kill_node("pulsar-broker-9")
    sender = running.sender(name)
    sender.send(100)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}

    leading = cluster.leading_node(name)
    assert leading in ("pulsar-broker-1", "pulsar-broker-2")
    cluster.kill_node(leading)
    assert running.cluster.dead_nodes() == ()
    _wait_for_another_leader(cluster, name, leading)
    taken_over = _send_until_acknowledged(running, name)
    cluster.kill_node("pulsar-bookie-1")
    taken_over.send(50)
    assert set(list(taken_over.settle().values())[-50:]) == {ACKNOWLEDGED}
    wanted = 100 + sum(o == ACKNOWLEDGED for o in taken_over.outcomes.values())
    (got,) = receive([running.consumer("g", name)], wanted)
    assert len({m.identity for m in got}) >= wanted
    assert all(m.intact for m in got)


def _listens_on_loopback_only(running: Running) -> None:
    for node in running.cluster.nodes():
        connections = psutil.Process(node.pid).net_connections("tcp")
        listening = {c.laddr.ip.removeprefix("::ffff:") for c in connections if c.status == psutil.CONN_LISTEN}
        assert listening == {"127.0.0.1"}, node.name


def _wait_for_another_leader(cluster: CanLoseANode, name: str, old: str) -> None:
    until = deadline(180)
    while True:
        try:
            if cluster.leading_node(name) != old:
                return
        except Exception as e:
            last = e
        else:
            last = None
        assert time.monotonic_ns() < until, f"{old} still leads ({last})"
        time.sleep(0.5)


def _send_until_acknowledged(running: Running, name: str):  # type: ignore[no-untyped-def]
    """A producer that connects after the loss; its messages are new ones (another producer's number)."""
    sender = running.sender(name, number=1)
    until = deadline(180)
    while True:
        sender.send(10)
        outcomes = sender.settle()
        assert set(outcomes.values()) <= {ACKNOWLEDGED, UNKNOWN}
        if list(outcomes.values())[-10:] == [ACKNOWLEDGED] * 10:
            return sender
        assert time.monotonic_ns() < until, sender.errors
