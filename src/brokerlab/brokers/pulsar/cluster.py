"""Pulsar's servers as child processes on loopback: one standalone, or a ZooKeeper, three bookies and two brokers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.certificates import make_certificates
from brokerlab.brokers.pulsar import server
from brokerlab.brokers.pulsar.password_file import write_password_file
from brokerlab.brokers.pulsar.readiness import Readiness
from brokerlab.brokers.pulsar.rest import Rest
from brokerlab.brokers.pulsar.settings import BOOKIES, namespace_of, settings_of
from brokerlab.install.java import Java
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.processes.ports import HeldPorts
from brokerlab.processes.process import ServerProcess, inherited_environment, stop_together
from brokerlab.secrets import secret

BROKERS = 2
_MEMORY = {
    "standalone": server.Memory(768, 768),
    "zookeeper": server.Memory(192, 64),
    "bookie": server.Memory(256, 256),
    "broker": server.Memory(512, 384),
    "setup": server.Memory(192, 64),
}
_STOP_GRACE_S = 20.0
# A server that needs another first waits for a file and then becomes Java itself, under the same process id.
_GATE = 'while [ ! -e "$0" ]; do sleep 0.2; done; exec "$@"'
_NOT_OURS = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")  # of the user's shell


@dataclass
class Node:
    """One server: its process, what its files contain, where it is asked."""

    process: ServerProcess
    files: dict[str, str]
    urls: dict[str, str] = field(default_factory=dict)


class PulsarCluster:
    """See brokers.contract.Cluster and CanLoseANode."""

    def __init__(self, cell: CellPlan, directory: Path, logs: Path, java: Java, class_path: tuple[Path, ...]) -> None:
        self._cell = cell
        self._settings = settings_of(cell)
        self._directory = directory.absolute()
        self._logs = logs.absolute()
        self._java = java
        self._class_path = class_path
        self._protection = self._planned_protection()
        self._addresses: list[str] = []  # of the brokers, in their order
        self._setup: Node | None = None
        self._nodes: list[Node] = []
        self._held = HeldPorts(4 if cell.nodes == 1 else 1 + 2 * BOOKIES + 2 * BROKERS)
        if cell.nodes == 1:
            self._plan_standalone(*self._held.numbers)
        else:
            self._plan_cluster(iter(self._held.numbers))

    def _planned_protection(self) -> server.Protection | None:
        security = self._cell.security
        if security is None or not security.tls:
            return None
        made = self._directory / "certificates"
        passwords = None if security.user is None else made / "passwords"
        return server.Protection(made / "ca.pem", made / "server.pem", made / "server-key.pem", passwords)

    def _node(self, role: str, name: str, main: list[str], gate: str | None = None) -> Node:
        home = self._directory / name
        command = server.java_command(self._java.path, self._java.major, self._class_path, _MEMORY[role], home, main)
        if gate is not None:
            command = ["/bin/sh", "-c", _GATE, str(self._directory / gate), *command]
        env = inherited_environment(self._cell.security, *_NOT_OURS)
        return Node(ServerProcess(name, command, self._logs / f"{name}.log", home, env), {})

    def _web(self, port: int) -> str:
        return f"{'https' if self._protection else 'http'}://{server.HOST}:{port}"

    def _broker_urls(self, web_port: int) -> dict[str, str]:
        urls = {"broker": self._web(web_port)}
        return urls | ({"ca_file": str(self._protection.ca_file)} if self._protection else {})

    def _plan_standalone(self, port: int, web_port: int, bookie_port: int, bookie_http: int) -> None:
        home = self._directory / "pulsar-1"
        conf = home / "standalone.conf"
        node = self._node("standalone", "pulsar-1", server.standalone_arguments(conf, home, bookie_port))
        node.files[conf.name] = server.standalone_conf(port, web_port, bookie_http, self._settings, self._protection)
        node.urls = {**self._broker_urls(web_port), "bookie": f"http://{server.HOST}:{bookie_http}"}
        self._addresses = [f"{server.HOST}:{port}"]
        self._nodes = [node]

    def _plan_cluster(self, ports: Iterator[int]) -> None:
        zookeeper_port = next(ports)
        home = self._directory / "pulsar-zookeeper"
        zookeeper = self._node("zookeeper", home.name, [server.ZOOKEEPER, str(home / "zoo.cfg")])
        zookeeper.files["zoo.cfg"] = server.zookeeper_conf(zookeeper_port, home / "data")
        zookeeper.urls = {"zookeeper": f"{server.HOST}:{zookeeper_port}"}
        self._nodes = [zookeeper]
        for i in range(1, BOOKIES + 1):
            port, http = next(ports), next(ports)
            home = self._directory / f"pulsar-bookie-{i}"
            main = [server.BOOKIE, "--conf", str(home / "bookkeeper.conf")]
            node = self._node("bookie", home.name, main, gate="metadata-is-there")
            node.files["bookkeeper.conf"] = server.bookie_conf(port, http, zookeeper_port, home, self._settings)
            node.urls = {"bookie": f"http://{server.HOST}:{http}"}
            self._nodes.append(node)
        for i in range(1, BROKERS + 1):
            port, web_port = next(ports), next(ports)
            home = self._directory / f"pulsar-broker-{i}"
            main = [server.BROKER, "--broker-conf", str(home / "broker.conf")]
            node = self._node("broker", home.name, main, gate="bookies-are-there")
            node.files["broker.conf"] = server.broker_conf(
                port, web_port, zookeeper_port, self._settings, self._protection
            )
            node.urls = self._broker_urls(web_port)
            self._addresses.append(f"{server.HOST}:{port}")
            self._nodes.append(node)
        scheme = "pulsar+ssl" if self._protection else "pulsar"
        web = self._nodes[-1].urls["broker"]
        setup = server.setup_arguments(zookeeper_port, web, f"{scheme}://{self._addresses[-1]}")
        self._setup = self._node("setup", "pulsar-setup", setup)

    def start(self) -> None:
        self._make_protection()
        for node in self._everything():
            home = node.process.directory
            (home / "tmp").mkdir(parents=True, exist_ok=True)
            for name, content in {**node.files, "log4j2.properties": server.log4j_properties()}.items():
                (home / name).write_text(content)
        for node in self._everything():
            node.process.start()

    def _everything(self) -> list[Node]:
        return [*self._nodes, *([self._setup] if self._setup else [])]

    def _make_protection(self) -> None:
        if self._protection is None:
            return
        make_certificates(self._protection.ca_file.parent)
        security = self._cell.security
        if self._protection.password_file is not None and security is not None:
            assert security.user is not None
            assert security.password is not None
            write_password_file(self._protection.password_file, security.user, secret(security.password))

    def wait_ready(self, deadline_mono_ns: int) -> None:
        readiness = Readiness(self.endpoint(), self._cell, deadline_mono_ns, self.dead_nodes, self.log_tail)
        if self._setup is not None:
            readiness.metadata(self._setup.process)
            (self._directory / "metadata-is-there").touch()
            readiness.bookies()
            (self._directory / "bookies-are-there").touch()
        readiness.brokers()
        readiness.acknowledged_write()

    def endpoint(self) -> Endpoint:
        options = {
            "web": ",".join(n.urls["broker"] for n in self._nodes if "broker" in n.urls),
            "bookies": ",".join(n.urls["bookie"] for n in self._nodes if "bookie" in n.urls),
        }
        security = self._cell.security
        if security is not None and self._protection is not None:
            security = security.model_copy(update={"ca_file": str(self._protection.ca_file)})
        return Endpoint(addresses=tuple(self._addresses), options=options, security=security)

    def nodes(self) -> tuple[NodeInfo, ...]:
        return tuple(NodeInfo(n.process.name, n.process.pid, n.urls) for n in self._nodes)

    def dead_nodes(self) -> tuple[str, ...]:
        return tuple(n.process.name for n in self._nodes if n.process.died())

    def leading_node(self, destination: str) -> str:
        """The broker that owns the first partition, from a lookup."""
        topic = f"{namespace_of(self._cell.durability)}/{quote(destination, safe='')}-partition-0"
        found = Rest(self.endpoint()).get(f"/lookup/v2/topic/persistent/{topic}")
        url = found["brokerUrlTls" if self._protection else "brokerUrl"]
        owner = self._addresses.index(url.rpartition("/")[2])
        return [n.process.name for n in self._nodes if "broker" in n.urls][owner]

    def kill_node(self, name: str) -> None:
        {n.process.name: n.process for n in self._nodes}[name].kill()

    def log_tail(self, lines: int = 20) -> str:
        return "\n".join(f"--- {n.process.name}\n{n.process.log_tail(lines)}" for n in self._everything())

    def stop(self) -> None:
        """Brokers first, ZooKeeper last: each tells the one behind it that it leaves."""
        groups: list[list[ServerProcess]] = [[], [], []]
        for node in self._everything():
            groups[0 if "broker" in node.urls else 1 if "bookie" in node.urls else 2].append(node.process)
        for processes in groups:
            stop_together(processes, _STOP_GRACE_S)

    def clean(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
