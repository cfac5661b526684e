"""An ActiveMQ broker as a child process on loopback."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.activemq.admin import ActiveAdmin
from brokerlab.brokers.activemq.beans import CALLABLE, READABLE
from brokerlab.brokers.activemq.configuration import broker_xml
from brokerlab.brokers.activemq.settings import topic_name
from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.certificates import write_key_store
from brokerlab.brokers.kit.java_cluster import JavaCluster
from brokerlab.brokers.kit.local import trial_destination, write_private
from brokerlab.brokers.kit.recipes import JavaServer
from brokerlab.brokers.kit.stomp_link import StompLink
from brokerlab.model.plan import CellPlan, Endpoint

NAME = "activemq-1"
_HEAP_MB = 1024  # as ActiveMQ's own script gives it


class ActiveCluster(JavaCluster):
    """One node; see brokers.contract.Cluster."""

    def __init__(self, cell: CellPlan, server: JavaServer, directory: Path, logs: Path) -> None:
        super().__init__(cell, directory, logs, ports=2)
        self._port, self._jolokia_port = self._held.numbers
        self._urls = {"jolokia": self._jolokia_urls([self._jolokia_port])[0]}
        self._home = self._directory / NAME
        places = [f"-Dactivemq.{name}={self._home}" for name in ("home", "base")]
        options = [f"-Xms{_HEAP_MB}m", f"-Xmx{_HEAP_MB}m", *places]
        main = ["org.apache.activemq.console.Main", "start", "xbean:file:broker.xml"]
        self._processes = [self._java_with_agent(NAME, server, options, main)]

    def start(self) -> None:
        self._make_certificates()
        self._write_files(NAME, self._jolokia_port, READABLE, CALLABLE)
        key_store = None if self._certificates is None else write_key_store(self._certificates)
        write_private(self._home / "broker.xml", broker_xml(NAME, self._cell, self._home, self._port, key_store))
        self._start_processes()

    def wait_ready(self, deadline_mono_ns: int) -> None:
        self._wait("a receipt for a persistent message", self._written, deadline_mono_ns)

    def _written(self) -> bool:
        admin = ActiveAdmin(self.endpoint(), self._cell)
        with trial_destination(admin) as name, StompLink.session(self.endpoint()) as link:
            link.call("SEND", {"destination": f"/topic/{topic_name(name, 0)}", "persistent": "true"})
        return True

    def endpoint(self) -> Endpoint:
        return self._endpoint([self._port], self._urls)

    def nodes(self) -> tuple[NodeInfo, ...]:
        return self._nodes_at([self._urls])
