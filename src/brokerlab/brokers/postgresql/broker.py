"""PostgreSQL's front door."""

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
from brokerlab.errors import InstallError
from brokerlab.model.plan import AgentPlan, CellPlan, Durability, Endpoint

VERSION = "18.6"


class PostgresqlBroker:
    """See brokers.contract.Broker."""

    name = "postgresql"
    product = "PostgreSQL"
    version = VERSION
    kind: Literal["server", "calibration"] = "server"
    capabilities = Capabilities(
        nodes=(1, 3),
        durability_levels={
            1: (Durability.L3, Durability.L4),
            3: (Durability.L1, Durability.L2, Durability.L3, Durability.L4),
        },
        partitions=True,
        groups=True,
        competing_consumers=True,
        replay=False,  # a row is deleted when its group has acknowledged it
        individual_acknowledgement=True,
        redelivery=True,
        positions=True,
        acknowledgement="the transaction that inserted it has committed, the way synchronous_commit says",
        security=("tls", "password"),
        can_lose_a_node=(3,),
        endpoint_options={"database": "the database to use", "user": "whom to be without a password"},
    )

    def installation(self) -> Installation:
        from brokerlab.brokers.postgresql.install import artifact_here, installed, preferred
        from brokerlab.install.preferred import said_version

        own = preferred()
        if own is not None:
            return Installation(True, True, said_version(own / "bin/postgres"), f"{own}, found on PATH", own)
        if artifact_here() is None:
            return Installation(False, False, VERSION, "no PostgreSQL archive for this kind of machine")
        programs = installed()
        if programs is None:
            return Installation(False, True, VERSION, "not installed: brokerlab install postgresql")
        return Installation(True, True, VERSION, "from the archive embedded-postgres-binaries", programs)

    def install(self, progress: Progress) -> Installation:
        from brokerlab.brokers.postgresql.install import install, preferred

        if preferred() is None:
            install(progress)
        return self.installation()

    def problems(self, cell: CellPlan) -> list[str]:
        from brokerlab.brokers.postgresql.settings import problems

        return problems(cell)

    def cluster(self, cell: CellPlan, directory: Path, logs: Path) -> Cluster:
        from brokerlab.brokers.postgresql.cluster import PostgresqlCluster

        programs = self.installation().location
        if programs is None:
            raise InstallError("PostgreSQL is not installed", hint="brokerlab install postgresql")
        return PostgresqlCluster(cell, programs, directory, logs)

    def admin(self, endpoint: Endpoint, cell: CellPlan) -> Admin:
        from brokerlab.brokers.postgresql.admin import PostgresqlAdmin

        return PostgresqlAdmin(endpoint, cell)

    def producer(self, plan: AgentPlan, number: int) -> Producer:
        from brokerlab.brokers.postgresql.producer import PostgresqlProducer

        return PostgresqlProducer(plan, number)

    def consumer(self, plan: AgentPlan, number: int) -> Consumer:
        from brokerlab.brokers.postgresql.consumer import PostgresqlConsumer

        return PostgresqlConsumer(plan, number)

    def probe(self, nodes: tuple[NodeInfo, ...]) -> BrokerProbe | None:
        from brokerlab.brokers.postgresql.probe import PostgresqlProbe

        return PostgresqlProbe(nodes)


BROKER = PostgresqlBroker()
