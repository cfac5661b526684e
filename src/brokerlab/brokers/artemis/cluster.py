"""Artemis brokers as child processes on loopback: one alone, or live-backup pairs."""

from __future__ import annotations

import secrets
from pathlib import Path

from brokerlab.brokers.artemis.admin import ArtemisAdmin
from brokerlab.brokers.artemis.beans import CALLABLE, DATASYNC_OPTION, READABLE, Beans, by_pair, pairs_of
from brokerlab.brokers.artemis.configuration import Node, node_files
from brokerlab.brokers.artemis.settings import DATASYNC, DEFAULT_GROUP, QueueName, server_settings
from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.java_cluster import JavaCluster
from brokerlab.brokers.kit.local import not_yet, write_private
from brokerlab.brokers.kit.recipes import JavaServer
from brokerlab.brokers.kit.stomp_link import StompLink
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.processes.process import ServerProcess

_READY = "brokerlab_ready"
_AUDIT = "org.apache.activemq.audit"  # at the level INFO it logs every request


class ArtemisCluster(JavaCluster):
    """See brokers.contract.Cluster and CanLoseANode. Every odd node is a primary, and the next one its backup."""

    def __init__(self, cell: CellPlan, server: JavaServer, directory: Path, logs: Path) -> None:
        super().__init__(cell, directory, logs, ports=2 * cell.nodes)
        ports, self._jolokia = self._held.numbers[: cell.nodes], self._held.numbers[cell.nodes :]
        roles = [""] if cell.nodes == 1 else ["primary", "backup"] * (cell.nodes // 2)
        others = [ports[i ^ 1] if role else 0 for i, role in enumerate(roles)]
        self._nodes = [Node(f"artemis-{i + 1}", ports[i], role, others[i]) for i, role in enumerate(roles)]
        self._password = secrets.token_hex(16)  # between the nodes of a pair
        self._urls = self._jolokia_urls(self._jolokia)
        self._processes = [self._process(node, server) for node in self._nodes]

    def _process(self, node: Node, server: JavaServer) -> ServerProcess:
        # By that jar Jolokia would know Artemis' own launcher, which we do not use, and wait minutes for what it does.
        jars = tuple(jar for jar in server.jars if jar.name != "artemis-boot.jar")
        home, unpacked = self._directory / node.name, jars[0].parent.parent
        options = [
            *("-Xms512m", "-Xmx1024m", "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED"),
            *(f"-Dartemis.home={unpacked}", f"-Dartemis.instance={home}", f"-Dartemis.instance.etc={home / 'etc'}"),
            f"-Djava.library.path={unpacked / 'bin' / 'lib' / 'linux-x86_64'}",  # for the journal ASYNCIO
            f"-Djava.security.auth.login.config={home / 'etc' / 'login.config'}",
            f"{DATASYNC_OPTION}{server_settings(self._cell)[DATASYNC]}",
        ]
        main = ["org.apache.activemq.artemis.cli.Artemis", "run"]
        return self._java_with_agent(node.name, JavaServer(server.java, jars), options, main)

    def start(self) -> None:
        self._make_certificates()
        for node, jolokia_port in zip(self._nodes, self._jolokia, strict=True):
            self._write_files(node.name, jolokia_port, READABLE, CALLABLE, silent=[_AUDIT])
            etc = self._directory / node.name / "etc"
            for name, text in node_files(etc, node, self._cell, self._password, self._certificates).items():
                write_private(etc / name, text)
        self._start_processes()

    def wait_ready(self, deadline_mono_ns: int) -> None:
        self._wait("backups that have everything", self._in_sync, deadline_mono_ns)
        self._wait("a persistent message in a queue", self._kept, deadline_mono_ns)

    def _in_sync(self) -> bool:
        with not_yet():
            return self._cell.nodes == 1 or all(Beans(pair).active().replicated for pair in pairs_of(self.endpoint()))

    def _kept(self) -> bool:
        """By every pair. A receipt alone would not prove it: it comes for a message that goes to no queue as well."""
        admin, endpoint = ArtemisAdmin(self.endpoint(), self._cell), self.endpoint()
        names = [QueueName(DEFAULT_GROUP, _READY, partition) for partition in range(len(pairs_of(endpoint)))]
        with not_yet():
            admin.delete((_READY,), ())
            admin.create((_READY,), len(names), ())
            for pair, own in by_pair(endpoint, names):
                with StompLink.session(pair) as link:
                    for name in own:
                        link.call("SEND", {"destination": name.address, "persistent": "true"})
                if Beans(pair).waiting(own) != len(own):
                    return False
            admin.delete((_READY,), ())
        return True

    def endpoint(self) -> Endpoint:
        options = {"jolokia": ",".join(self._urls), "pairs": str(max(1, len(self._nodes) // 2))}
        return self._endpoint([node.port for node in self._nodes], options)

    def nodes(self) -> tuple[NodeInfo, ...]:
        return self._node_infos("jolokia", self._urls)

    def _leading_node(self, destination: str) -> str:
        ((pair, (first,)),) = by_pair(self.endpoint(), [QueueName("", destination, 0)])
        beans = Beans(pair)
        if first.address not in beans.addresses(destination):
            raise BrokerError(f"there is no destination {destination}")
        return str(beans.active().values["Name"])
