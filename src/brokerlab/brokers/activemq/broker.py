"""ActiveMQ's front door."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.contract import Capabilities
from brokerlab.brokers.kit.durability import ONE_NODE_LEVELS
from brokerlab.brokers.kit.front_door import FrontDoor, Parts
from brokerlab.brokers.kit.recipes import FromMaven

BROKER = FrontDoor(
    name="activemq",
    product="Apache ActiveMQ Classic",
    runs="Apache ActiveMQ Classic 6.3 with KahaDB, over STOMP",
    folder=__package__,
    capabilities=Capabilities(
        nodes=(1,),
        durability_levels={1: ONE_NODE_LEVELS},
        replay=False,
        positions=False,
        acknowledgement=(
            "the message is in KahaDB's journal for every group, or a consumer has already acknowledged it; "
            "fsynced before only with journalDiskSyncStrategy=always"
        ),
        security=("tls", "password"),
        delete_by_hand="delete the queues and topics whose names have {name} in them",
        endpoint_options={
            "jolokia": "http://HOST:PORT/PATH: Jolokia of the broker's JVM (the web console has it at /api/jolokia), which "
            "tells settings and backlogs, and deletes queues"
        },
    ),
    recipe=FromMaven("activemq", "6.3.1", Path(__file__).with_name("activemq.lock")),
    parts=Parts(
        cluster="cluster:ActiveCluster",
        admin="admin:ActiveAdmin",
        producer="drivers:producer",
        consumer="drivers:ActiveConsumer",
        probe="beans:probe",
        lag="lag:ActiveLag",
        figures_at={"jolokia": ("jolokia", "")},
    ),
)
