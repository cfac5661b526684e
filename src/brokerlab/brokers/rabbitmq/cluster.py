"""RabbitMQ nodes as child processes on loopback, with a port mapper of their own."""

from __future__ import annotations

import secrets
import socket
import time
from pathlib import Path

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.local import HOST, LocalCluster, write_private
from brokerlab.brokers.kit.wire import credentials
from brokerlab.brokers.rabbitmq import server
from brokerlab.brokers.rabbitmq.admin import RabbitAdmin
from brokerlab.brokers.rabbitmq.install import Programs
from brokerlab.brokers.rabbitmq.management import Management
from brokerlab.brokers.rabbitmq.names import first_queue
from brokerlab.brokers.rabbitmq.readiness import confirmed_write
from brokerlab.brokers.rabbitmq.settings import settings_of
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.processes.process import stop_together

_STOP_GRACE_S = 20.0
_PORTS_EACH = 5


class RabbitCluster(LocalCluster):
    """1 or 3 nodes; see brokers.contract.Cluster and CanLoseANode."""

    def __init__(self, cell: CellPlan, programs: Programs, directory: Path, logs: Path) -> None:
        super().__init__(cell, directory, logs, ports=1 + _PORTS_EACH * cell.nodes)
        self._settings = settings_of(cell)
        self._cookie = secrets.token_hex(16)
        self._epmd_port, *ports = self._held.numbers
        self._layouts = [
            server.NodeLayout(
                i + 1, self._directory / f"rabbitmq-{i + 1}", *ports[i * _PORTS_EACH : (i + 1) * _PORTS_EACH]
            )
            for i in range(cell.nodes)
        ]
        environments = [server.environment(layout, programs.erlang, self._epmd_port) for layout in self._layouts]
        self._processes = [
            self._server(layout.name, [str(programs.server)], environment)
            for layout, environment in zip(self._layouts, environments, strict=True)
        ]
        command = [str(programs.epmd), "-port", str(self._epmd_port), "-address", "127.0.0.1"]
        self._epmd = self._server("rabbitmq-epmd", command, environments[0])

    def start(self) -> None:
        definitions = self._secure()
        for layout in self._layouts:
            text = server.configuration(
                layout, self._layouts, self._settings.kind, self._settings.server, self._certificates, definitions
            )
            server.write_files(layout, text, self._settings.kind, self._cookie)
        self._epmd.start()
        self._wait_for_epmd()
        for process in self._processes:
            process.start()

    def _secure(self) -> Path | None:
        """Certificates and the user that the cell asks for; the file that tells the nodes about the user."""
        self._make_certificates()
        security = self._cell.security
        if security is None or security.user is None:
            return None
        path = self._directory / "definitions.json"
        write_private(path, server.Account(*credentials(security)).definitions())
        return path

    def _wait_for_epmd(self) -> None:
        """A few milliseconds: nodes that find no port mapper would end."""

        def listens() -> bool:
            with socket.create_connection(("127.0.0.1", self._epmd_port), 1.0):
                return True

        self._wait("the Erlang port mapper", listens, time.monotonic_ns() + 30_000_000_000, every_s=0.01)

    def wait_ready(self, deadline_mono_ns: int) -> None:
        self._wait("every node is in the cluster", self._all_in, deadline_mono_ns, every_s=0.1)
        write = f"a confirmed write to a {self._settings.kind} queue with {self._settings.members} members online"
        self._wait(write, lambda: confirmed_write(self.endpoint(), self._cell), deadline_mono_ns, every_s=0.1)

    def _all_in(self) -> bool:
        """Every node answers, and each sees all of them running."""
        management = Management(self.endpoint())
        for url in management.urls:
            nodes = management.get_from(url, "nodes", seconds=5.0)
            if sum(bool(n.get("running")) for n in nodes or ()) != len(self._layouts):
                return False
        return True

    def endpoint(self) -> Endpoint:
        scheme = "http" if self._certificates is None else "https"
        options = {"management": ",".join(f"{scheme}://127.0.0.1:{n.management_port}" for n in self._layouts)}
        if self._settings.kind == "stream":
            options["stream"] = ",".join(f"127.0.0.1:{n.stream_port}" for n in self._layouts)
        return self._endpoint([n.amqp_port for n in self._layouts], options)

    def nodes(self) -> tuple[NodeInfo, ...]:
        return self._node_infos("prometheus", [f"http://{HOST}:{n.prometheus_port}/metrics" for n in self._layouts])

    def dead_nodes(self) -> tuple[str, ...]:
        return tuple(p.name for p in (*self._processes, self._epmd) if p.died())

    def _leading_node(self, destination: str) -> str:
        admin = RabbitAdmin(self.endpoint(), self._cell)
        try:
            leader = admin.leader(first_queue(admin.queues(destination), destination))
        finally:
            admin.close()
        if leader is None:
            raise BrokerError(f"{destination} has no leader now", hint="ask again in a moment")
        return leader.partition("@")[0]

    def stop(self) -> None:
        stop_together(self._processes, _STOP_GRACE_S)
        self._epmd.stop()
