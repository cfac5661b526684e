"""The memory broker's front door."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from brokerlab.brokers.contract import (
    Admin,
    BrokerProbe,
    Capabilities,
    Cluster,
    Consumer,
    Installation,
    NodeInfo,
    Producer,
    Progress,
)
from brokerlab.model.plan import AgentPlan, CellPlan, Durability, Endpoint

CAPABILITIES = Capabilities(
    nodes=(1,),
    durability_levels={1: (Durability.L4,)},
    partitions=True,
    groups=True,
    competing_consumers=True,
    replay=True,
    individual_acknowledgement=True,
    redelivery=True,
    positions=True,
    acknowledgement="the message is in the memory of the one server process; it ends with that process",
)


class MemoryBroker:
    """See brokers.contract.Broker."""

    name = "memory"
    product = "brokerlab memory broker"
    version = "1"
    kind: Literal["server", "calibration"] = "calibration"
    capabilities = CAPABILITIES

    def installation(self) -> Installation:
        return Installation(True, True, self.version, "ships with brokerlab")

    def install(self, progress: Progress) -> Installation:
        progress("nothing to install", 1.0)
        return self.installation()

    def problems(self, cell: CellPlan) -> list[str]:
        from brokerlab.brokers.kit.setting_checks import unknown_names
        from brokerlab.brokers.memory import settings

        given = cell.broker_settings
        return [
            *unknown_names("broker_settings", given, settings.DEFAULTS),
            *unknown_names("client_settings", cell.client_settings, ()),
            *settings.size_problems(given),
        ]

    def cluster(self, cell: CellPlan, directory: Path, logs: Path) -> Cluster:
        from brokerlab.brokers.memory.cluster import MemoryCluster
        from brokerlab.brokers.memory.settings import size_arguments

        arguments = size_arguments(cell.broker_settings)
        return MemoryCluster(self.name, "brokerlab.brokers.memory.server", arguments, directory, logs)

    def admin(self, endpoint: Endpoint, cell: CellPlan) -> Admin:  # noqa: ARG002 - nothing in a cell changes how it is asked
        from brokerlab.brokers.memory.cluster import MemoryAdmin

        return MemoryAdmin(endpoint)

    def producer(self, plan: AgentPlan, number: int) -> Producer:  # noqa: ARG002 - connections need no name
        from brokerlab.brokers.memory.producer import MemoryProducer

        return MemoryProducer(plan)

    def consumer(self, plan: AgentPlan, number: int) -> Consumer:  # noqa: ARG002 - connections need no name
        from brokerlab.brokers.memory.consumer import MemoryConsumer

        return MemoryConsumer(plan)

    def probe(self, nodes: tuple[NodeInfo, ...]) -> BrokerProbe | None:
        from brokerlab.brokers.memory.cluster import MemoryProbe

        return MemoryProbe(nodes)


BROKER = MemoryBroker()
