"""Kafka's front door."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

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
from brokerlab.brokers.kafka.install import VERSION, install_jars, installed_jars
from brokerlab.brokers.kafka.settings import planned_durability, server_settings, setting_problems
from brokerlab.errors import InstallError, MachineError
from brokerlab.model.plan import AgentPlan, CellPlan, Durability, Endpoint

if TYPE_CHECKING:
    from types import ModuleType

_INSTALL_HINT = "brokerlab install kafka"


class KafkaBroker:
    """See the broker contract's Broker."""

    name = "kafka"
    product = "Apache Kafka"
    version = VERSION
    kind: Literal["server", "calibration"] = "server"
    capabilities = Capabilities(
        nodes=(1, 3, 6, 9),
        durability_levels={
            1: (Durability.L3, Durability.L4),
            3: tuple(Durability),
            6: tuple(Durability),
            9: tuple(Durability),
        },
        partitions=True,
        groups=True,
        competing_consumers=True,
        replay=True,
        individual_acknowledgement=False,
        redelivery=True,
        positions=True,
        acknowledgement=(
            "acks=all: every in-sync replica has the message (on disk only with flush.messages=1); "
            "acks=1: the leader has it in memory; acks=0: it was handed to the network"
        ),
        security=("tls", "password"),
        can_lose_a_node=(3, 6, 9),
    )

    def installation(self) -> Installation:
        from brokerlab.install.java import LEAST_VERSION, find_java

        jars = installed_jars()
        java = find_java()
        location = None if jars is None else jars.agent.parent.parent
        if jars is None:
            reason = f"not installed: {_INSTALL_HINT}"
        elif java is None:
            reason = f"no Java {LEAST_VERSION} or newer: {_INSTALL_HINT}"
        else:
            reason = f"jars by lock file, Java {java.version} from {java.source}"
        # What is missing can be fetched without root, so it runs here either way.
        return Installation(jars is not None and java is not None, True, VERSION, reason, location)

    def install(self, progress: Progress) -> Installation:
        from brokerlab.install.java import need_java

        need_java(progress)
        install_jars(progress)
        return self.installation()

    def problems(self, cell: CellPlan) -> list[str]:
        problems = setting_problems(cell)
        if cell.driver == "native" and _native() is None:
            problems.append("driver: the native path is not available here (no compiler?); use auto or python")
        return problems

    def planned_durability(self, cell: CellPlan) -> ComputedDurability:
        return planned_durability(cell)

    def cluster(self, cell: CellPlan, directory: Path, logs: Path) -> Cluster:
        from brokerlab.brokers.kafka.cluster import KafkaCluster
        from brokerlab.install.java import find_java

        jars = installed_jars()
        java = find_java()
        if jars is None or java is None:
            raise InstallError(f"Kafka cannot start: {self.installation().reason}", hint=_INSTALL_HINT)
        own = server_settings(cell.broker_settings)
        return KafkaCluster(cell.nodes, own, directory, logs, java, jars, cell.security)

    def admin(self, endpoint: Endpoint, cell: CellPlan) -> Admin:
        from brokerlab.brokers.kafka.admin import KafkaAdmin

        return KafkaAdmin(endpoint, cell)

    def producer(self, plan: AgentPlan, number: int) -> Producer:
        check_plan_access(plan)
        native = _native_for(plan)
        if native is not None:
            from brokerlab.brokers.kafka.driver_produce import ProduceProducer, can_write

            if can_write(plan):
                return ProduceProducer(plan, number)
            made: Producer = native.NativeProducer(plan, number)
            return made
        from brokerlab.brokers.kafka.driver import PythonProducer

        return PythonProducer(plan, number)

    def consumer(self, plan: AgentPlan, number: int) -> Consumer:
        check_plan_access(plan)
        native = _native_for(plan)
        if native is not None:
            from brokerlab.brokers.kafka.driver_fetch import FetchConsumer, can_read

            if can_read(plan):
                return FetchConsumer(plan, number)
            made: Consumer = native.NativeConsumer(plan, number)
            return made
        from brokerlab.brokers.kafka.driver import PythonConsumer

        return PythonConsumer(plan, number)

    def probe(self, nodes: tuple[NodeInfo, ...]) -> BrokerProbe | None:
        from brokerlab.brokers.kafka.probe import JolokiaProbe

        return JolokiaProbe(nodes) if any("jolokia" in node.urls for node in nodes) else None


def check_plan_access(plan: AgentPlan) -> None:
    """librdkafka never gives up on a wrong password, so it is tried once before a driver is made."""
    from brokerlab.brokers.kafka.access import check_access

    if plan.endpoint.security is not None:
        check_access(plan.endpoint, plan.client_settings)


def _native() -> ModuleType | None:
    """The native driver, where its library could be built."""
    try:
        from brokerlab.brokers.kafka import driver_native
    except ImportError:
        return None
    return driver_native if driver_native.available() else None


def _native_for(plan: AgentPlan) -> ModuleType | None:
    """The native driver if the plan wants it; None for the Python one."""
    if plan.driver == "python":
        return None
    native = _native()
    if native is None and plan.driver == "native":
        raise MachineError("the native Kafka path is not available here", hint="use driver: auto, or install cc")
    return native


BROKER = KafkaBroker()
