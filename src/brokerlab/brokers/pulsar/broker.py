"""Pulsar's front door."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.contract import Capabilities, TestHints
from brokerlab.brokers.kit.durability import ALL_LEVELS, ONE_NODE_LEVELS
from brokerlab.brokers.kit.front_door import FrontDoor, NativePath, Parts
from brokerlab.brokers.kit.recipes import FromMaven

BROKER = FrontDoor(
    name="pulsar",
    product="Apache Pulsar",
    runs="Apache Pulsar 4.2: standalone; ZooKeeper, three bookies and two brokers",
    folder=__package__,
    capabilities=Capabilities(
        nodes=(1, 3),
        keys=True,
        durability_levels={1: ONE_NODE_LEVELS, 3: ALL_LEVELS},
        acknowledgement=(
            "as many bookies as the namespace's ack quorum have it in their journal; "
            "fsynced before only with journalSyncData=true"
        ),
        security=("tls", "password"),
        can_lose_a_node=(3,),
        start_s_per_node=10.0,  # three nodes are six processes, which wait for each other
        delete_by_hand="pulsar-admin topics delete-partitioned-topic --force persistent://public/brokerlab-{level}/{name}",
        endpoint_options={
            "web": "http://HOST:PORT[,...]: the brokers' administrative interface, where it is not at port 8080 or 8443",
            "bookies": "http://HOST:PORT[,...]: the bookies' own, which tells their journal's settings",
        },
    ),
    recipe=FromMaven(broker="pulsar", version="4.2.4", lock_file=Path(__file__).with_name("pulsar.lock")),
    parts=Parts.called(
        "Pulsar",
        lag="lag:PulsarLag",
        figures_at={"broker": ("web", "http://{host}:8080"), "bookie": ("bookies", "")},
    ),
    native=NativePath("native", "NativeProducer", "NativeConsumer", speaks_tls=False, limits="limit"),
    test_hints=TestHints(
        slow_to_start=True,
        resends=True,
        lag_probe_tells=("messages_in_total",),
        advertise=lambda address: {"advertisedListeners": f"wire:pulsar://{address}"},
    ),
)
