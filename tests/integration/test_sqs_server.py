"""ElasticMQ for real: what it loses when it is killed, and requests that are signed."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_load import Sender, agent_plan, cell_for, deadline, receive, unpack
from contract_servers import START_S, Running, running_server

from brokerlab.brokers.sqs.broker import BROKER
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability

SENT = 3000


def restarted(running: Running) -> None:
    (node,) = running.cluster.nodes()
    running.cluster.kill_node(node.name)  # type: ignore[attr-defined]
    running.cluster.start()
    running.cluster.wait_ready(deadline(START_S))
    assert running.cluster.nodes()[0].pid != node.pid


def acknowledged(sender: Sender) -> set[tuple[int, int, int]]:
    return {
        (sender.number, index % sender.partitions, index // sender.partitions)
        for index, outcome in sender.outcomes.items()
        if outcome == ACKNOWLEDGED
    }


@pytest.mark.parametrize("storage", ["memory", pytest.param("file", marks=pytest.mark.slow)])
def test_a_killed_server_loses_messages_that_it_had_acknowledged(storage: str, tmp_path: Path) -> None:
    cell = cell_for("sqs", 1, Durability.L4, broker_settings={"storage": storage})
    with running_server(BROKER, cell, tmp_path) as running:
        name = running.destination("g")
        sender = running.sender(name)
        sender.send(SENT)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}
        restarted(running)
        if storage == "memory":  # the queues are gone as well
            running.admin.create((name,), cell.partitions, ())
        consumer = running.consumer("g", name)
        got: set[tuple[int, int, int]] = set()
        until = deadline()
        while consumer.remaining():
            some = consumer.receive(500, deadline(1))
            got |= {m.identity for m in unpack(some)}
            consumer.acknowledge(some)
            assert deadline(0) < until
        lost = acknowledged(sender) - got
        assert len(lost) == SENT if storage == "memory" else lost, "everything acknowledged was kept"


def test_signed_requests_do_all_that_unsigned_ones_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in does not check a signature, but has to find everything else around it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    cell = cell_for("sqs", 1, Durability.L4)
    with running_server(BROKER, cell, tmp_path) as running:
        endpoint = running.endpoint.model_copy(update={"options": {"region": "elasticmq"}})
        admin = BROKER.admin(endpoint, cell)
        admin.create(("signed",), cell.partitions, ())
        computed = admin.durability(("signed",))
        assert computed.level == Durability.L4
        assert "claim" in computed.because["stored"]
        consumer = BROKER.consumer(agent_plan(cell, endpoint, ("signed",), "g"), 0)
        sender = Sender(BROKER.producer(agent_plan(cell, endpoint, ("signed",)), 0), cell.partitions)
        sender.send(100)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}
        (got,) = receive([consumer], 100)
        assert len(got) == 100
        consumer.close(deadline(5))
        sender.producer.close(deadline(5))
        admin.delete(("signed",), ())
        assert admin.effective_settings(("signed",)) == {}
