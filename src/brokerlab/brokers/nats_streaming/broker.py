"""NATS Streaming's front door."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.contract import Capabilities, TestHints
from brokerlab.brokers.kit.front_door import FrontDoor, Parts
from brokerlab.brokers.kit.recipes import FromGo
from brokerlab.model.plan import Durability

BROKER = FrontDoor(
    name="nats-streaming",
    product="NATS Streaming",
    runs="NATS Streaming 0.25 (ended in 2023), one node or three with Raft",
    folder=__package__,
    capabilities=Capabilities(
        nodes=(1, 3),
        fsync_floor=False,  # a Go program
        link_cap=(1,),
        durability_levels={1: (Durability.L4,), 3: (Durability.L2,)},
        acknowledgement="one node: the message is written to the operating system; three: a majority has it in the Raft log",
        security=("tls", "password"),
        can_lose_a_node=(3,),
        delete_by_hand="no client can delete the channels {name}.*: they go by max_inactivity, or with the server's data",
        endpoint_options={
            "cluster_id": "the server's cluster_id; test-cluster where it is not given",
            "monitoring": "http://HOST:PORT[,...]: its monitoring, which tells whether it is replicated, and backlogs",
        },
    ),
    recipe=FromGo(
        broker="nats-streaming",
        version="0.25.6",
        server="nats-streaming",
        program="nats-streaming-server",
        package="github.com/nats-io/nats-streaming-server",
        lock_file=Path(__file__).with_name("nats_streaming.mod"),
    ),
    parts=Parts(
        cluster="cluster:StreamingCluster",
        admin="admin:StreamingAdmin",
        producer="producer:StreamingProducer",
        consumer="consumer:StreamingConsumer",
        probe="monitoring:probe",
        lag="lag:StreamingLag",
        figures_at={"monitoring": ("monitoring", "")},
    ),
    test_hints=TestHints(nodes_in_every_run=(1, 3), taken_port_in_every_run=True),
)
