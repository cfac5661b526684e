"""Pulsar's front door."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from brokerlab.brokers.contract import (
    Admin,
    BrokerProbe,
    Capabilities,
    Cluster,
    ComputedDurability,
    Consumer,
    Installation,
    NodeInfo,
    Producer,
    Progress,
)
from brokerlab.brokers.pulsar.install import VERSION, install_jars, installed_jars
from brokerlab.brokers.pulsar.settings import problems, settings_of
from brokerlab.errors import InstallError
from brokerlab.model.plan import AgentPlan, CellPlan, Durability, Endpoint

_INSTALL_HINT = "brokerlab install pulsar"


class PulsarBroker:
    """See brokers.contract.Broker."""

    name = "pulsar"
    product = "Apache Pulsar"
    version = VERSION
    kind: Literal["server", "calibration"] = "server"
    capabilities = Capabilities(
        nodes=(1, 3),
        durability_levels={1: (Durability.L3, Durability.L4), 3: (Durability.L1, Durability.L2)},
        partitions=True,
        groups=True,
        competing_consumers=True,
        replay=True,
        individual_acknowledgement=True,
        redelivery=True,
        positions=True,
        acknowledgement=(
            "as many bookies as the namespace's ack quorum have it in their journal; "
            "fsynced before only with journalSyncData=true"
        ),
        security=("tls", "password"),
        can_lose_a_node=(3,),
        endpoint_options={
            "web": "http://HOST:PORT[,...]: the brokers' administrative interface, where it is not at port 8080 or 8443",
            "bookies": "http://HOST:PORT[,...]: the bookies' own, which tells their journal's settings",
        },
    )

    def installation(self) -> Installation:
        from brokerlab.install.java import LEAST_VERSION, find_java

        jars = installed_jars()
        java = find_java()
        if jars is None:
            reason = f"not installed: {_INSTALL_HINT}"
        elif java is None:
            reason = f"no Java {LEAST_VERSION} or newer: {_INSTALL_HINT}"
        else:
            reason = f"jars by lock file, Java {java.version} from {java.source}"
        location = None if jars is None else jars[0].parent.parent
        # What is missing can be fetched without root, so it runs here either way.
        return Installation(jars is not None and java is not None, True, VERSION, reason, location)

    def install(self, progress: Progress) -> Installation:
        from brokerlab.install.java import need_java

        need_java(progress)
        install_jars(progress)
        return self.installation()

    def problems(self, cell: CellPlan) -> list[str]:
        return problems(cell)

    def planned_durability(self, cell: CellPlan) -> ComputedDurability:
        settings = settings_of(cell)
        because = {
            "ensemble": str(settings.ensemble),
            "write_quorum": str(settings.write_quorum),
            "ack_quorum": str(settings.ack_quorum),
            **settings.journal,
        }
        return ComputedDurability(settings.level, because)

    def cluster(self, cell: CellPlan, directory: Path, logs: Path) -> Cluster:
        from brokerlab.brokers.pulsar.cluster import PulsarCluster
        from brokerlab.install.java import find_java

        jars = installed_jars()
        java = find_java()
        if jars is None or java is None:
            raise InstallError(f"Pulsar cannot start: {self.installation().reason}", hint=_INSTALL_HINT)
        return PulsarCluster(cell, directory, logs, java, jars)

    def admin(self, endpoint: Endpoint, cell: CellPlan) -> Admin:
        from brokerlab.brokers.pulsar.admin import PulsarAdmin

        return PulsarAdmin(endpoint, cell)

    def producer(self, plan: AgentPlan, number: int) -> Producer:
        from brokerlab.brokers.pulsar.producer import PulsarProducer

        return PulsarProducer(plan, number)

    def consumer(self, plan: AgentPlan, number: int) -> Consumer:
        from brokerlab.brokers.pulsar.consumer import PulsarConsumer

        return PulsarConsumer(plan, number)

    def probe(self, nodes: tuple[NodeInfo, ...]) -> BrokerProbe | None:
        from brokerlab.brokers.pulsar.probe import PulsarProbe

        return PulsarProbe(nodes)


BROKER = PulsarBroker()
