"""Pulsar's servers as child processes on loopback: one standalone, or a ZooKeeper, three bookies and two brokers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.java import NOT_OURS, write_java_files
from brokerlab.brokers.kit.jvm_options import own_options
from brokerlab.brokers.kit.local import LocalCluster, tails
from brokerlab.brokers.kit.recipes import JavaServer
from brokerlab.brokers.kit.wire import credentials
from brokerlab.brokers.pulsar import server
from brokerlab.brokers.pulsar.password_file import write_password_file
from brokerlab.brokers.pulsar.readiness import Readiness
from brokerlab.brokers.pulsar.rest import Rest
from brokerlab.brokers.pulsar.settings import BOOKIES, namespace_of, settings_of
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.processes.process import ServerProcess, inherited_environment, stop_together

BROKERS = 2
_MEMORY = {
    "standalone": server.Memory(768, 768),
    "zookeeper": server.Memory(192, 64),
    # Direct memory: the entries that a bookie may have in progress (`maxAddsInProgressLimit`, each a batch of up to 1 MiB), one that
    # is being received on each connection (64 from each broker in a study), and as much again, because Netty's pool holds whole
    # chunks of 4 MiB for what remains of them. It is a limit: what is not needed is not taken.
    "bookie": server.Memory(512, 1536),
    "broker": server.Memory(768, 512),
    "setup": server.Memory(192, 64),
}
_STOP_GRACE_S = 20.0
# A server that needs another first waits for a file and then becomes Java itself, under the same process id.
_GATE = 'while [ ! -e "$0" ]; do sleep 0.2; done; exec "$@"'


@dataclass
class Node:
    """One server: its process, what its files contain, where it is asked."""

    process: ServerProcess
    files: dict[str, str]
    urls: dict[str, str] = field(default_factory=dict)


class PulsarCluster(LocalCluster):
    """See brokers.contract.Cluster and CanLoseANode."""

    def __init__(self, cell: CellPlan, programs: JavaServer, directory: Path, logs: Path) -> None:
        super().__init__(cell, directory, logs, ports=4 if cell.nodes == 1 else 1 + 2 * BOOKIES + 2 * BROKERS)
        self._settings = settings_of(cell)
        self._programs = programs
        self._protection = self._planned_protection()
        self._addresses: list[str] = []  # of the brokers, in their order
        self._setup: Node | None = None
        self._nodes: list[Node] = []
        if cell.nodes == 1:
            self._plan_standalone(*self._held.numbers)
        else:
            self._plan_cluster(iter(self._held.numbers))
        self._processes = [node.process for node in self._nodes]

    def _planned_protection(self) -> server.Protection | None:
        files, security = self._certificates, self._cell.security
        if files is None or security is None:
            return None
        passwords = None if security.user is None else files.ca_file.with_name("passwords")
        return server.Protection(files.ca_file, files.certificate_file, files.key_file, passwords)

    def _node(self, role: str, name: str, main: list[str], gate: str | None = None) -> Node:
        home = self._directory / name
        own = own_options(self._cell.broker_settings)
        command = server.java_command(self._programs, self._memory(role), home, main, own)
        if gate is not None:
            command = ["/bin/sh", "-c", _GATE, str(self._directory / gate), *command]
        env = inherited_environment(self._cell.security, *NOT_OURS)
        return Node(self._server(name, command, env), {})

    def _memory(self, role: str) -> server.Memory:
        """Caches are in direct memory: larger ones need more of it."""
        bookie, broker = self._settings.larger_caches_mb
        more = {"bookie": bookie, "broker": broker, "standalone": bookie + broker}.get(role, 0)
        return server.Memory(_MEMORY[role].heap_mb, _MEMORY[role].direct_mb + more)

    def _web(self, port: int) -> str:
        return f"{'https' if self._protection else 'http'}://{server.HOST}:{port}"

    def _plan_standalone(self, port: int, web_port: int, bookie_port: int, bookie_http: int) -> None:
        home = self._directory / "pulsar-1"
        conf = home / "standalone.conf"
        node = self._node("standalone", "pulsar-1", server.standalone_arguments(conf, home, bookie_port))
        node.files[conf.name] = server.standalone_conf(port, web_port, bookie_http, self._settings, self._protection)
        node.urls = {"broker": self._web(web_port), "bookie": f"http://{server.HOST}:{bookie_http}"}
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
            node.urls = {"broker": self._web(web_port)}
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
            write_java_files(home)
            for name, content in node.files.items():
                (home / name).write_text(content)
        for node in self._everything():
            node.process.start()

    def _everything(self) -> list[Node]:
        return [*self._nodes, *([self._setup] if self._setup else [])]

    def _make_protection(self) -> None:
        if self._protection is None:
            return
        self._make_certificates()
        if self._protection.password_file is not None:
            write_password_file(self._protection.password_file, *credentials(self._cell.security))

    def wait_ready(self, deadline_mono_ns: int) -> None:
        def until(what: str, condition: Callable[[], bool]) -> None:
            self._wait(what, condition, deadline_mono_ns, every_s=0.2)

        readiness = Readiness(self.endpoint(), self._cell, until)
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
        return Endpoint(addresses=tuple(self._addresses), options=options, security=self._client_security())

    def nodes(self) -> tuple[NodeInfo, ...]:
        return tuple(NodeInfo(n.process.name, n.process.pid, n.urls) for n in self._nodes)

    def _leading_node(self, destination: str) -> str:
        """The broker that owns the first partition, from a lookup."""
        topic = f"{namespace_of(self._cell.durability)}/{quote(destination, safe='')}-partition-0"
        found = Rest(self.endpoint()).get(f"/lookup/v2/topic/persistent/{topic}")
        url = found["brokerUrlTls" if self._protection else "brokerUrl"]
        owner = self._addresses.index(url.rpartition("/")[2])
        return [n.process.name for n in self._nodes if "broker" in n.urls][owner]

    def log_tail(self, lines: int = 20, of: Collection[str] = ()) -> str:
        return tails((n.process for n in self._everything()), lines, of)

    def stop(self) -> None:
        """Brokers first, ZooKeeper last: each tells the one behind it that it leaves."""
        groups: list[list[ServerProcess]] = [[], [], []]
        for node in self._everything():
            groups[0 if "broker" in node.urls else 1 if "bookie" in node.urls else 2].append(node.process)
        for processes in groups:
            stop_together(processes, _STOP_GRACE_S)
