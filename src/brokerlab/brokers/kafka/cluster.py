"""Kafka nodes as child processes on loopback, formatted without a JVM each; up to three are controllers too."""

from __future__ import annotations

import secrets
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kafka import security, server
from brokerlab.brokers.kafka.access import leader_of
from brokerlab.brokers.kafka.archive import archive_of, make_once
from brokerlab.brokers.kafka.broker import BROKER
from brokerlab.brokers.kafka.metrics import METRICS
from brokerlab.brokers.kafka.probe import READABLE
from brokerlab.brokers.kafka.readiness import prove_ready
from brokerlab.brokers.kafka.settings import server_settings, wants_jmx
from brokerlab.brokers.kit.java import NOT_OURS, remote_jmx_options, write_java_files
from brokerlab.brokers.kit.jolokia import (
    AgentAndJars,
    JolokiaProbe,
    agent_and_jars,
    agent_option,
    policy,
    write_agent_files,
)
from brokerlab.brokers.kit.jvm_options import own_options
from brokerlab.brokers.kit.local import LocalCluster, write_private
from brokerlab.brokers.kit.recipes import JavaServer
from brokerlab.errors import BrokerError
from brokerlab.install.cache import entry, exclusive, write_whole
from brokerlab.install.java import Java
from brokerlab.model.plan import CellPlan, Endpoint, MachinePlan
from brokerlab.processes.process import inherited_environment, stop_together

_STOP_GRACE_S = 20.0
# A controller that leads waits 5 s for a successor, and here all are going. A node that is killed before it has closed
# its log recovers it when it is started again.
_STOP_TOGETHER_GRACE_S = 2.5
_FIRST_FIGURES_S = 20.0
_ARCHIVING_S = 60.0


class KafkaCluster(LocalCluster):
    """1, 3, 6 or 9 nodes. Data under `directory`, logs under `logs`; see the broker contract's Cluster and
    CanLoseANode."""

    def __init__(
        self, cell: CellPlan, programs: JavaServer, directory: Path, logs: Path, archive_to: Path | None = None
    ) -> None:
        """With `archive_to`, Java writes its archive of classes there when it ends; it refuses to with an agent, so there
        are no figures to read from such a node."""
        jmx = wants_jmx(cell.broker_settings) and archive_to is None
        super().__init__(cell, directory, logs, ports=(4 if jmx else 3) * cell.nodes)
        self._programs, self._java, self._jars = programs, programs.java, agent_and_jars(programs.jars)
        self._servers_password = secrets.token_urlsafe(24)
        ports = iter(self._held.numbers)
        self._layouts = [
            server.NodeLayout(i, next(ports), next(ports), next(ports), self._directory / f"kafka-{i}")
            for i in range(1, cell.nodes + 1)
        ]
        self._jmx_ports = {layout.name: next(ports) for layout in self._layouts} if jmx else {}
        self._archive = None if archive_to is not None else archive_of(self._java, self._jars)
        size = server.jvm_size(cell.nodes)
        env = inherited_environment(cell.security, *NOT_OURS)
        for layout in self._layouts:
            options = self._java_options(layout, archive_to)
            own = own_options(cell.broker_settings)
            command = server.java_command(self._java.path, self._jars, layout, size, options, own)
            self._processes.append(self._server(layout.name, command, env))

    def _java_options(self, layout: server.NodeLayout, archive_to: Path | None) -> list[str]:
        if archive_to is not None:
            return [f"-XX:ArchiveClassesAtExit={archive_to}"]
        options = [f"-XX:SharedArchiveFile={self._archive}", agent_option(self._jars.agent, layout.directory)]
        port = self._jmx_ports.get(layout.name)
        return options if port is None else [*options, *remote_jmx_options(port)]

    def start(self) -> None:
        if self._archive is not None:
            make_once(self._archive, self._run_for_an_archive)
        checkpoint = bootstrap_checkpoint(self._java, self._jars)
        cluster_id = server.new_id()
        self._make_certificates()
        if self._certificates is not None:
            security.write_keystore(self._certificates)
        for layout in self._layouts:
            self._write_files(layout, cluster_id, checkpoint)
        for process in self._processes:
            process.start()

    def _write_files(self, layout: server.NodeLayout, cluster_id: str, checkpoint: bytes) -> None:
        layout.data.mkdir(parents=True, exist_ok=True)
        wanted = self._cell.security
        demanded: dict[str, str] = {}
        if wanted is not None:
            demanded = security.server_settings(wanted, self._certificates, self._servers_password)
        own, protocol = server_settings(self._cell.broker_settings), security.protocol(wanted)
        advertised_port = self._links.port_for(layout.client_port)
        text = server.server_properties(layout, self._layouts, own, protocol, demanded, advertised_port)
        write_private(layout.properties, text)
        write_java_files(layout.directory)
        write_agent_files(layout.directory, layout.jolokia_port, policy(READABLE), None, None)
        if not (layout.data / "meta.properties").exists():  # started again: the data is still formatted
            (layout.data / "bootstrap.checkpoint").write_bytes(checkpoint)
            (layout.data / "meta.properties").write_text(server.meta_properties(layout, cluster_id))

    def wait_ready(self, deadline_mono_ns: int) -> None:
        def until(what: str, condition: Callable[[], bool]) -> None:
            self._wait(what, condition, deadline_mono_ns, every_s=0.1)

        until("Kafka's ports to answer", self._all_listen)
        prove_ready(self.endpoint(), len(self._layouts), until)
        if self._archive is not None:
            # The first request loads the agents' classes and takes longer than a probe waits: not during a run.
            JolokiaProbe(None, self.nodes(), METRICS, _FIRST_FIGURES_S).read()

    def _run_for_an_archive(self, directory: Path, archive: Path) -> None:
        plain = self._cell.model_copy(
            update={"nodes": 1, "broker_settings": {}, "security": None, "machine": MachinePlan()}
        )
        node = KafkaCluster(plain, self._programs, directory, directory / "logs", archive_to=archive)
        try:
            node.start()
            node.wait_ready(time.monotonic_ns() + round(_ARCHIVING_S * 1e9))
        finally:
            node.stop()

    def _all_listen(self) -> bool:
        for layout in self._layouts:
            with socket.create_connection(("127.0.0.1", layout.client_port), timeout=1.0):
                pass
        return True

    def endpoint(self) -> Endpoint:
        return self._endpoint([layout.client_port for layout in self._layouts])

    def nodes(self) -> tuple[NodeInfo, ...]:
        return tuple(
            NodeInfo(layout.name, process.pid, self._urls(layout))
            for layout, process in zip(self._layouts, self._processes, strict=True)
        )

    def _urls(self, layout: server.NodeLayout) -> dict[str, str]:
        jmx = {"jmx": f"127.0.0.1:{self._jmx_ports[layout.name]}"} if self._jmx_ports else {}
        return {"jolokia": f"http://127.0.0.1:{layout.jolokia_port}/jolokia/", **jmx}

    def _leading_node(self, destination: str) -> str:
        """Asked of the cluster's metadata: the leader of the destination's first partition."""
        return f"kafka-{leader_of(self.endpoint(), destination)}"

    def stop(self) -> None:
        stop_together(self._processes, _STOP_GRACE_S if len(self._processes) == 1 else _STOP_TOGETHER_GRACE_S)


def bootstrap_checkpoint(java: Java, jars: AgentAndJars) -> bytes:
    """The bootstrap.checkpoint of a formatted node: the same for every node and cluster of one version, so it is made
    once by Kafka's own tool and kept in the cache."""
    kept = entry("kafka", f"{BROKER.version}-bootstrap.checkpoint")
    with exclusive(kept):
        if not kept.is_file():
            write_whole(kept, _format_once(java, jars))
    return kept.read_bytes()


def _format_once(java: Java, jars: AgentAndJars) -> bytes:
    with tempfile.TemporaryDirectory(prefix="brokerlab-format-") as scratch:
        layout = server.NodeLayout(1, 1, 2, 3, Path(scratch))
        layout.properties.write_text(server.server_properties(layout, [layout], {}))
        command = [str(java.path), "-Xmx256m", "-cp", server.class_path(jars), server.STORAGE_TOOL]
        command += ["format", "-t", server.new_id(), "-c", str(layout.properties)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        made = layout.data / "bootstrap.checkpoint"
        if done.returncode != 0 or not made.is_file():
            raise BrokerError(f"Kafka's storage could not be formatted:\n{(done.stderr + done.stdout)[-2000:]}")
        return made.read_bytes()
