"""Artemis' front door."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.contract import Capabilities
from brokerlab.brokers.kit.durability import ONE_NODE_LEVELS
from brokerlab.brokers.kit.front_door import FrontDoor, Parts
from brokerlab.brokers.kit.recipes import FromMavenArchive
from brokerlab.model.plan import Durability

BROKER = FrontDoor(
    name="artemis",
    product="Apache ActiveMQ Artemis",
    runs="Apache ActiveMQ Artemis 2.56 with its journal, alone or in live-backup pairs, over STOMP",
    folder=__package__,
    capabilities=Capabilities(
        nodes=(1, 2, 6),
        durability_levels={1: ONE_NODE_LEVELS, 2: (Durability.L2,), 6: (Durability.L2,)},
        replay=False,
        positions=False,
        acknowledgement="the message is in the journal for every group, fsynced before only with journal-datasync=true; in "
        "a pair the backup has received it as well, and has not yet written it",
        security=("tls", "password"),
        can_lose_a_node=(2, 6),
        delete_by_hand="artemis address delete --name {name}.0 --force, and so on for every partition",
        endpoint_options={
            "jolokia": "http://HOST:PORT/PATH,...: Jolokia of every node's JVM, in the order of the addresses (the web console "
            "has it at /console/jolokia); makes and deletes queues, and tells settings and backlogs",
            "pairs": "into how many live-backup pairs the addresses divide, each with its nodes in a row (1)",
        },
    ),
    recipe=FromMavenArchive("artemis", "2.56.0", Path(__file__).with_name("artemis.lock")),
    parts=Parts(
        cluster="cluster:ArtemisCluster",
        admin="admin:ArtemisAdmin",
        producer="drivers:producer",
        consumer="drivers:consumer",
        probe="beans:probe",
        lag="lag:ArtemisLag",
        figures_at={"jolokia": ("jolokia", "")},
    ),
)
