"""FerretDB and its PostgreSQL are killed and started again: what was fsynced is still there."""

from __future__ import annotations

from pathlib import Path

import psutil
from contract_load import cell_for, deadline, receive, wait_remaining
from contract_servers import START_S, running_server

from brokerlab.brokers.mongodb.broker import BROKER
from brokerlab.brokers.mongodb.cluster import DATABASE, FERRETDB
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability
from brokerlab.processes.children import children_of

SENT = 500


def test_messages_that_were_acknowledged_at_l3_outlive_the_servers(tmp_path: Path) -> None:
    cell = cell_for("mongodb", 1, Durability.L3)
    with running_server(BROKER, cell, tmp_path) as running:
        name = running.destination("g")
        sender = running.sender(name)
        sender.send(SENT)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}
        before = running.cluster.nodes()
        processes = running.cluster._processes  # type: ignore[attr-defined]
        family = [child for process in processes for child in children_of(process)]
        assert family, "PostgreSQL has processes of its own"
        for node in (DATABASE, FERRETDB):
            running.cluster.kill_node(node)  # type: ignore[attr-defined]
        assert not any(process.is_running() for process in processes)
        assert [child for child in family if child.is_running() and child.status() != psutil.STATUS_ZOMBIE] == []
        running.cluster.start()
        running.cluster.wait_ready(deadline(START_S))
        assert not {node.pid for node in before} & {node.pid for node in running.cluster.nodes()}
        consumer = running.consumer("g", name)
        (got,) = receive([consumer], SENT)
        assert len(got) == SENT
        assert all(message.intact for message in got)
        wait_remaining(consumer, 0)
