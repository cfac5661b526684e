"""The files and the command line of one Kafka server: pure functions from a layout to text."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from brokerlab.brokers.kit import java as kit_java
from brokerlab.brokers.kit.jolokia import AgentAndJars
from brokerlab.brokers.kit.jvm_options import with_own

CONTROLLERS_MOST = 3  # more than three nodes: the first three are controllers too, the rest brokers only
MAIN_CLASS = "kafka.Kafka"
STORAGE_TOOL = "kafka.tools.StorageTool"


@dataclass(frozen=True)
class NodeLayout:
    """Where one node listens and keeps its files."""

    number: int  # node.id, from 1
    client_port: int
    controller_port: int
    jolokia_port: int
    directory: Path

    @property
    def name(self) -> str:
        return f"kafka-{self.number}"

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def properties(self) -> Path:
        return self.directory / "server.properties"


def new_id() -> str:
    """A fresh id in Kafka's form: 16 random bytes, base64 for URLs, never beginning with '-'."""
    made = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    return new_id() if made.startswith("-") else made


def server_properties(
    node: NodeLayout,
    nodes: Sequence[NodeLayout],
    own: Mapping[str, str],
    protocol: str = "PLAINTEXT",
    security: Mapping[str, str] = MappingProxyType({}),
    advertised_port: int | None = None,
) -> str:
    """server.properties of one node. `protocol` is that of all listeners and the name of the clients' one, `security`
    the settings it needs; `own` settings come last and win. Clients and the other nodes connect to `advertised_port`
    where it is given, which leads to this node."""
    copies = str(min(len(nodes), 3))
    least = str(min(len(nodes), 2))
    controllers = nodes[:CONTROLLERS_MOST]
    clients = f"{protocol}://127.0.0.1:{node.client_port}"
    controlling = f",CONTROLLER://127.0.0.1:{node.controller_port}" if node in controllers else ""
    settings = {
        "process.roles": "broker,controller" if node in controllers else "broker",
        "node.id": str(node.number),
        "controller.quorum.voters": ",".join(f"{n.number}@127.0.0.1:{n.controller_port}" for n in controllers),
        "listeners": clients + controlling,
        "advertised.listeners": f"{protocol}://127.0.0.1:{advertised_port or node.client_port}",
        "listener.security.protocol.map": f"{protocol}:{protocol},CONTROLLER:{protocol}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": protocol,
        **security,
        "log.dirs": str(node.data),
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        # Fifty partitions of each internal topic would be most of the work of starting.
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.num.partitions": "4",
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": least,
        "share.coordinator.state.topic.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": least,
        # The default of 128 MB does not fit into a small heap: the cleaner's thread dies of it.
        "log.cleaner.dedupe.buffer.size": "8388608",
        # Files of deleted topics go at once, not after a minute: on a kept cluster they would be written to the disk, and take
        # its room, while the next execution is measured.
        "log.segment.delete.delay.ms": "1000",
        # Patience on busy machines: a loaded host must not look like a dead controller. (An election's own timeout stays
        # at Kafka's 1 s: at the start there is no leader, and all wait for one.)
        "controller.quorum.fetch.timeout.ms": "10000",
        "broker.session.timeout.ms": "30000",
        # All nodes stop together, so no node is left to hand leadership to; waiting for it can hang.
        "controlled.shutdown.enable": "false",
        **own,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def meta_properties(node: NodeLayout, cluster_id: str) -> str:
    """What `StorageTool format` would write into the data directory, without a JVM per node."""
    return f"version=1\ncluster.id={cluster_id}\nnode.id={node.number}\ndirectory.id={new_id()}\n"


@dataclass(frozen=True)
class JvmSize:
    """How much one node's JVM may take."""

    heap_mb: int
    collector: tuple[str, ...]


_AS_KAFKA_SHIPS = ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
_SMALL = ("-XX:+UseSerialGC",)  # no threads of its own


def jvm_size(nodes: int) -> JvmSize:
    """One node gets what Kafka's own scripts give it; several must share a small machine."""
    if nodes == 1:
        return JvmSize(1024, _AS_KAFKA_SHIPS)
    if nodes <= 3:
        return JvmSize(512, _AS_KAFKA_SHIPS)
    return JvmSize(256 if nodes <= 6 else 192, _SMALL)


def java_command(
    java: Path,
    jars: AgentAndJars,
    node: NodeLayout,
    size: JvmSize,
    more_options: Sequence[str] = (),
    own: Sequence[str] = (),
) -> list[str]:
    """The command that runs one node in the foreground."""
    ours = (f"-Xms{size.heap_mb}m", f"-Xmx{size.heap_mb}m", *size.collector, *more_options)
    options = with_own(ours, own)
    return kit_java.java_command(java, jars.class_path, node.directory, options, [MAIN_CLASS, str(node.properties)])


def class_path(jars: AgentAndJars) -> str:
    return ":".join(map(str, jars.class_path))
