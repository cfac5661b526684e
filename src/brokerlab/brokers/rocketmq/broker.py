"""RocketMQ's front door."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.contract import Capabilities, TestHints
from brokerlab.brokers.kit.durability import ONE_NODE_LEVELS
from brokerlab.brokers.kit.front_door import FrontDoor, Parts
from brokerlab.brokers.kit.recipes import FromMaven
from brokerlab.model.plan import Durability

BROKER = FrontDoor(
    name="rocketmq",
    product="Apache RocketMQ",
    runs="Apache RocketMQ 5.5, over its remoting protocol",
    folder=__package__,
    capabilities=Capabilities(
        nodes=(1, 2, 6),
        durability_levels={1: ONE_NODE_LEVELS, **dict.fromkeys((2, 6), (Durability.L2, *ONE_NODE_LEVELS))},
        individual_acknowledgement=False,
        acknowledgement=(
            "the message is in the master's log; fsynced there before with flushDiskType=SYNC_FLUSH; with SYNC_MASTER and "
            "inSyncReplicas=2 the slave has written it too, without fsync"
        ),
        security=("tls", "password"),
        can_lose_a_node=(2, 6),
        delete_by_hand="mqadmin deleteTopic -n NAME_SERVER -c CLUSTER -t {name}",
    ),
    recipe=FromMaven("rocketmq", "5.5.0", Path(__file__).with_name("rocketmq.lock")),
    parts=Parts(
        cluster="cluster:RocketCluster",
        admin="admin:RocketAdmin",
        producer="drivers:producer",
        consumer="drivers:consumer",
        probe="admin:RocketProbe",
        lag="lag:RocketLag",
        figures_at={"remoting": ("", "{address}")},
    ),
    test_hints=TestHints(taken_port_in_every_run=True),
)
