"""EventStoreDB's front door, for KurrentDB too."""

from __future__ import annotations

from brokerlab.brokers.contract import Capabilities
from brokerlab.brokers.kit.durability import ALL_LEVELS, ONE_NODE_LEVELS
from brokerlab.brokers.kit.front_door import FrontDoor, Parts
from brokerlab.brokers.kit.recipes import ByEndpoint

BROKER = FrontDoor(
    name="eventstore",
    product="KurrentDB (EventStoreDB)",
    runs="a KurrentDB or EventStoreDB that you run, persistent subscriptions over gRPC",
    folder=__package__,
    capabilities=Capabilities(
        nodes=(),
        durability_levels={1: ONE_NODE_LEVELS, 3: ALL_LEVELS},
        acknowledgement=(
            "a majority of the cluster's nodes has written the events, and fsynced them unless UnsafeDisableFlushToDisk or "
            "MemDb is set"
        ),
        security=("tls", "password"),
        delete_by_hand="delete the streams {name}-0, {name}-1 and so on, at https://{address}/web/index.html#/streams",
        endpoint_options={
            "http": "http(s)://HOST:PORT of its HTTP API, where that is not at the endpoint's own address"
        },
    ),
    recipe=ByEndpoint("eventstore", "any", "no registry that brokerlab can fetch from has a KurrentDB"),
    parts=Parts(
        cluster="",
        admin="admin:EventstoreAdmin",
        producer="producer:EventstoreProducer",
        consumer="consumer:EventstoreConsumer",
        probe="api:EventstoreProbe",
    ),
)
