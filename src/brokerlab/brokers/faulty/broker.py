"""The faulty broker's front door: the memory broker's, but for its server and settings."""

from __future__ import annotations

from dataclasses import replace

from brokerlab.brokers.kit.recipes import Shipped
from brokerlab.brokers.memory.broker import BROKER as MEMORY
from brokerlab.model.plan import Endpoint

BROKER = replace(
    MEMORY,
    name="faulty",
    product="brokerlab memory broker with scripted faults",
    runs="the same with scripted loss, duplicates, corruption, delay and stalls",
    capabilities=replace(
        MEMORY.capabilities,
        acknowledgement="none that can be relied on: messages are lost, doubled or damaged on purpose, and counted",
    ),
    recipe=Shipped(broker="faulty", version="1"),
    parts=replace(
        MEMORY.parts,
        cluster="brokerlab.brokers.faulty.cluster:FaultyCluster",
        problems="brokerlab.brokers.faulty.settings:problems",
    ),
)


def injected(endpoint: Endpoint) -> dict[str, int]:
    """What the server has done so far, by columns of the delivery table that follow from it for every group."""
    from brokerlab.brokers.memory.connection import ask

    return {name: int(count) for name, count in ask(endpoint, {"do": "injected"}).items()}
