"""Live-backup pairs, one of which loses its primary while it is loaded: the backup takes over."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from contract_load import cell_for, deadline
from contract_servers import running_server
from planted import planted
from test_redis_failover import leader_after, received_until

from brokerlab.brokers.artemis.broker import BROKER
from brokerlab.brokers.contract import CanLoseANode
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Security

pytestmark = pytest.mark.slow

PARTITIONS = 6
REFERENCE = "env:BROKERLAB_TEST_ARTEMIS_PAIR_PASSWORD"
SECURITY = Security(tls=True, user="mary", password=REFERENCE)


@pytest.mark.parametrize(("nodes", "security"), [(2, SECURITY), (6, None)], ids=["one, with TLS", "three"])
def test_a_backup_takes_over_and_everything_acknowledged_is_delivered(
    nodes: int, security: Security | None, tmp_path: Path
) -> None:
    cell = cell_for("artemis", nodes, Durability.L2, partitions=PARTITIONS, security=security)
    with planted(REFERENCE, "between us"), running_server(BROKER, cell, tmp_path) as running:
        cluster = running.cluster
        assert isinstance(cluster, CanLoseANode)
        name = running.destination("g")
        settings = running.admin.effective_settings((name,))
        assert len([subject for subject in settings if subject.startswith("broker:")]) == nodes // 2
        consumer, sender = running.consumer("g", name), running.sender(name)
        sender.send(600)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}
        killed = cluster.leading_node(name)
        cluster.kill_node(killed)
        backup = f"artemis-{int(killed.rpartition('-')[2]) + 1}"
        assert leader_after(cluster, name, killed) == backup
        sender.send(600)
        sender.settle()
        sender.send(600)
        outcomes = sender.settle()
        assert [outcomes[i] for i in range(1200, 1800)] == [ACKNOWLEDGED] * 600, sender.errors
        wanted = {(0, i % PARTITIONS, i // PARTITIONS) for i, o in outcomes.items() if o == ACKNOWLEDGED}
        seen = received_until(consumer, wanted)
        assert wanted <= seen, f"{len(wanted - seen)} acknowledged messages are lost"
        assert running.admin.durability((name,)).level == Durability.L4, "there is no second copy any more"


def test_asking_for_what_is_not_there_says_so(tmp_path: Path) -> None:
    with running_server(BROKER, cell_for("artemis", 2, Durability.L2), tmp_path) as running:
        cluster = running.cluster
        assert isinstance(cluster, CanLoseANode)
        with pytest.raises(KeyError):
            cluster.kill_node("artemis-9")
        with pytest.raises(BrokerError, match="no destination never-made"):
            cluster.leading_node("never-made")
        name = running.destination("g")
        cluster.kill_node("artemis-2")
        until = deadline()
        while running.admin.durability((name,)).level != Durability.L4:
            assert time.monotonic_ns() < until, "a backup that is dead still counts as a copy"
            time.sleep(0.1)
        sender = running.sender(name)
        sender.send(100)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}, "the primary goes on alone"
