"""A master with two replicas that loses them one by one: Redis, level L2."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_load import cell_for
from contract_servers import running_server

from brokerlab.brokers.contract import CanLoseANode
from brokerlab.brokers.redis.broker import REDIS
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN
from brokerlab.model.plan import Durability


def test_acknowledgement_ends_with_the_last_replica_and_nothing_takes_over_from_the_master(tmp_path: Path) -> None:
    cell = cell_for("redis", 3, Durability.L2, client_settings={"wait_timeout_ms": "2000"})
    with running_server(REDIS, cell, tmp_path) as running:
        cluster = running.cluster
        assert isinstance(cluster, CanLoseANode)
        name = running.destination()
        sender = running.sender(name)
        master = cluster.leading_node(name)
        replicas = [node.name for node in cluster.nodes() if node.name != master]

        cluster.kill_node(replicas[0])
        sender.send(50)
        assert [sender.settle()[i] for i in range(50)] == [ACKNOWLEDGED] * 50, "one replica of two is enough"

        cluster.kill_node(replicas[1])
        sender.send(50)
        assert [sender.settle()[i] for i in range(50, 100)] == [UNKNOWN] * 50
        assert sender.errors == {"WAIT: 0 of 1 replicas": 50}
        assert running.admin.durability((name,)).level == Durability.L4, "the level computed says what is left"

        cluster.kill_node(master)
        with pytest.raises(BrokerError, match="no node takes writes"):
            cluster.leading_node(name)
        assert cluster.dead_nodes() == (), "killed on purpose"
        with pytest.raises(KeyError):
            cluster.kill_node("redis-4")
