"""NATS Streaming for real: what it keeps when it is killed, a leader that is lost, and a password."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from contract_load import Sender, agent_plan, cell_for, deadline, receive, unpack
from contract_servers import START_S, Running, running_server
from planted import WRONG, files_with, planted, private, shown_by_processes, with_security

from brokerlab.brokers.contract import CanLoseANode, Consumer
from brokerlab.brokers.nats_streaming.broker import BROKER
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED
from brokerlab.model.plan import Durability, Endpoint, Security

ONE = cell_for("nats-streaming", 1, Durability.L4)
PASSWORD, REFERENCE = 'pl"anted\\ sécret-77ab02', "env:BROKERLAB_TEST_STREAMING_PASSWORD"
PART = "sécret-77ab02"


def acknowledged(sender: Sender) -> set[tuple[int, int, int]]:
    return {
        (sender.number, index % sender.partitions, index // sender.partitions)
        for index, outcome in sender.outcomes.items()
        if outcome == ACKNOWLEDGED
    }


def test_a_killed_server_keeps_what_is_in_its_files_and_the_place_of_every_group(tmp_path: Path) -> None:
    with running_server(BROKER, ONE, tmp_path) as running:
        name = running.destination("g")
        sender, consumer = running.sender(name), running.consumer("g", name)
        sender.send(500)
        sender.settle()
        (first,) = receive([consumer], 500)
        sender.send(500)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}
        consumer.close(deadline(5))
        (node,) = running.cluster.nodes()
        running.cluster.kill_node(node.name)  # type: ignore[attr-defined]
        running.cluster.start()
        running.cluster.wait_ready(deadline(START_S))
        (rest,) = receive([running.consumer("g", name)], 500)
        found = {m.identity for m in (*first, *rest)}
        assert found == acknowledged(sender)
        assert len(rest) == 500, "what the group had acknowledged came again"


def test_a_message_that_is_too_large_is_refused_and_the_connection_stays(tmp_path: Path) -> None:
    cell = ONE.model_copy(update={"broker_settings": {"max_payload": "64KB"}})
    with running_server(BROKER, cell, tmp_path) as running:
        sender = running.sender(running.destination())
        sender.send(10)
        sender.send_block(sender.block(1, message_bytes=100_000))
        sender.send(10)
        outcomes = sender.settle()
    assert [outcomes[i] for i in range(21)] == [ACKNOWLEDGED] * 10 + [REJECTED] + [ACKNOWLEDGED] * 10
    assert sender.errors == {"larger than max_payload": 1}


def poll(consumer: Consumer, got: set[tuple[int, int, int]]) -> None:
    some = consumer.receive(500, time.monotonic_ns() + 20_000_000)
    got.update(m.identity for m in unpack(some) if m.intact)
    consumer.acknowledge(some)


@pytest.mark.slow
def test_after_the_leader_is_killed_everything_acknowledged_is_received(tmp_path: Path) -> None:
    cell = cell_for("nats-streaming", 3, Durability.L2, client_settings={"ack_wait_s": "5"})
    with running_server(BROKER, cell, tmp_path) as running:
        cluster = running.cluster
        assert isinstance(cluster, CanLoseANode)
        name, got = running.destination("g"), set[tuple[int, int, int]]()
        names = [node.name for node in cluster.nodes()]
        leader = cluster.leading_node(name)
        # The producer is connected to the leader itself and loses its connection; the consumer to another node.
        sender = running.sender(name, number=names.index(leader))
        consumer = running.consumer("g", name, number=names.index(leader) + 1)
        sender.send(500)
        sender.settle()
        cluster.kill_node(leader)
        assert cluster.dead_nodes() == ()
        before, until = sender.taken, deadline()
        while sum(o == ACKNOWLEDGED for i, o in sender.outcomes.items() if i >= before) < 50:
            sender.send(1)
            sender.collect()
            poll(consumer, got)
            assert time.monotonic_ns() < until, f"not acknowledged again: {sender.errors}"
        assert cluster.leading_node(name) in set(names) - {leader}
        while missing := acknowledged(sender) - got:
            poll(consumer, got)
            assert time.monotonic_ns() < until, f"{len(missing)} acknowledged messages never came"


@pytest.mark.parametrize("tls", [False, True], ids=["password-only", "tls"])
def test_what_was_asked_for_is_demanded_and_the_password_is_nowhere_to_be_found(tls: bool, tmp_path: Path) -> None:
    cell = ONE.model_copy(update={"security": Security(tls=tls, user="lab", password=REFERENCE)})
    with planted(REFERENCE, PASSWORD), running_server(BROKER, cell, tmp_path) as running:
        _passes(running)
        _is_refused(running, with_security(running.endpoint, password=WRONG), "(?i)authorization")
        _is_refused(running, with_security(running.endpoint, tls=not tls), "demands TLS" if tls else "no TLS")
        if tls:
            _is_refused(running, with_security(running.endpoint, ca_file=None), "(?i)certificate")
        else:
            _is_refused(running, running.endpoint.model_copy(update={"security": None}), "(?i)authorization")
        assert shown_by_processes(PART, of=[node.pid for node in running.cluster.nodes()]) == []
        holding = files_with(PART, tmp_path)
        assert [path.name for path in holding] == ["server.conf"]
        assert private(holding)


def _is_refused(running: Running, endpoint: Endpoint, why: str) -> None:
    with pytest.raises(BrokerError, match=why):
        BROKER.producer(agent_plan(running.cell, endpoint, ("d",)), 0)
    with pytest.raises(BrokerError, match=why):
        BROKER.admin(endpoint, running.cell).durability(("d",))


def _passes(running: Running) -> None:
    name = running.destination("g")
    consumer, sender = running.consumer("g", name), running.sender(name)
    sender.send(200)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    (got,) = receive([consumer], 200)
    assert all(m.intact for m in got)
