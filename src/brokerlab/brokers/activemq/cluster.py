"""An ActiveMQ broker as a child process on loopback."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.activemq.admin import ActiveAdmin
from brokerlab.brokers.activemq.beans import CALLABLE, READABLE
from brokerlab.brokers.activemq.configuration import broker_xml
from brokerlab.brokers.activemq.settings import topic_name
from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.certificates import write_key_store
from brokerlab.brokers.kit.java import NOT_OURS, java_command, write_java_files
from brokerlab.brokers.kit.jolokia import agent_and_jars, agent_option, policy, write_agent_files
from brokerlab.brokers.kit.local import HOST, LocalCluster, write_private
from brokerlab.brokers.kit.recipes import JavaServer
from brokerlab.brokers.kit.stomp_link import StompLink
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.processes.process import inherited_environment

NAME = "activemq-1"
_HEAP_MB = 1024  # as ActiveMQ's own script gives it
_READY = "brokerlab_ready"


class ActiveCluster(LocalCluster):
    """One node; see brokers.contract.Cluster."""

    def __init__(self, cell: CellPlan, server: JavaServer, directory: Path, logs: Path) -> None:
        super().__init__(cell, directory, logs, ports=2)
        self._port, self._jolokia_port = self._held.numbers
        scheme = "http" if self._certificates is None else "https"
        self._urls = {"jolokia": f"{scheme}://{HOST}:{self._jolokia_port}/jolokia/"}
        self._home = self._directory / NAME
        agent, jars = agent_and_jars(server.jars)
        places = [f"-Dactivemq.{name}={self._home}" for name in ("home", "base")]
        options = [f"-Xms{_HEAP_MB}m", f"-Xmx{_HEAP_MB}m", *places, agent_option(agent, self._home)]
        main = ["org.apache.activemq.console.Main", "start", "xbean:file:broker.xml"]
        command = java_command(server.java.path, jars, self._home, options, main)
        self._processes = [self._server(NAME, command, inherited_environment(cell.security, *NOT_OURS))]

    def start(self) -> None:
        write_java_files(self._home)
        self._make_certificates()
        key_store = None if self._certificates is None else write_key_store(self._certificates)
        write_private(self._home / "broker.xml", broker_xml(NAME, self._cell, self._home, self._port, key_store))
        allowed = policy(READABLE, CALLABLE)
        write_agent_files(self._home, self._jolokia_port, allowed, self._certificates, self._cell.security)
        for process in self._processes:
            process.start()

    def wait_ready(self, deadline_mono_ns: int) -> None:
        self._wait("a receipt for a persistent message", self._written, deadline_mono_ns)

    def _written(self) -> bool:
        admin = ActiveAdmin(self.endpoint(), self._cell)
        try:
            admin.create((_READY,), 1, ())
            with StompLink.session(self.endpoint()) as link:
                link.call("SEND", {"destination": f"/topic/{topic_name(_READY, 0)}", "persistent": "true"})
            admin.delete((_READY,), ())
        except BrokerError as e:
            raise OSError(e.message) from e
        return True

    def endpoint(self) -> Endpoint:
        return self._endpoint([self._port], self._urls)

    def nodes(self) -> tuple[NodeInfo, ...]:
        return tuple(NodeInfo(p.name, p.pid, self._urls) for p in self._processes)
