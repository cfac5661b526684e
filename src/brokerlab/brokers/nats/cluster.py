"""NATS servers as child processes on loopback."""

from __future__ import annotations

import time
from pathlib import Path

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.certificates import Certificates
from brokerlab.brokers.kit.curly_configuration import demands as demand_lines
from brokerlab.brokers.kit.curly_configuration import routes as route_lines
from brokerlab.brokers.kit.http_reader import read_json
from brokerlab.brokers.kit.local import LocalCluster, not_yet, write_private
from brokerlab.brokers.nats.admin import stream_config
from brokerlab.brokers.nats.link import JetStreamError, Link, broker_name
from brokerlab.brokers.nats.settings import NatsSettings, settings_of
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint, Security
from brokerlab.processes.process import inherited_environment
from brokerlab.processes.readiness import wait_until

READY = "brokerlab_ready"
LEADER_NS = 60_000_000_000


class NatsCluster(LocalCluster):
    """See brokers.contract.Cluster."""

    def __init__(self, cell: CellPlan, program: Path, directory: Path, logs: Path) -> None:
        super().__init__(cell, directory, logs, ports=3 * cell.nodes)
        self._settings = settings_of(cell)
        ports = self._held.numbers
        self._client_ports, self._http_ports, self._route_ports = (
            ports[i * cell.nodes : (i + 1) * cell.nodes] for i in range(3)
        )
        env = inherited_environment(cell.security)
        for i in range(cell.nodes):
            name = f"nats-{i + 1}"
            command = [str(program), "--config", str(self._directory / name / "nats.conf")]
            self._processes.append(self._server(name, command, env))

    def start(self) -> None:
        self._make_certificates()
        for i, process in enumerate(self._processes):
            write_private(process.directory / "nats.conf", self._configuration(i))
            process.start()

    def _configuration(self, i: int) -> str:
        routes = [f"nats://127.0.0.1:{p}" for j, p in enumerate(self._route_ports) if j != i]
        node, ports = self._processes[i], (self._client_ports[i], self._http_ports[i], self._route_ports[i])
        wanted = demands(self._cell.security, self._certificates)
        return configuration(node.name, ports, node.directory / "store", self._settings, routes, wanted)

    def wait_ready(self, deadline_mono_ns: int) -> None:
        self._wait("every node answers", self._answers, deadline_mono_ns)
        write = f"an acknowledged write with {self._settings.replicas} replicas"
        self._wait(write, self._acknowledges, deadline_mono_ns, every_s=0.1)

    def _answers(self) -> bool:
        """JetStream is on everywhere, and a cluster has agreed on its leader with all peers current."""
        nodes = len(self._processes)
        for url in self._urls():
            meta = read_json(f"{url}/jsz").get("meta_cluster", {})
            if nodes > 1 and (not meta.get("leader") or int(meta.get("cluster_size", 0)) < nodes):
                return False
        return True

    def _acknowledges(self) -> bool:
        with not_yet():
            link = Link(self.endpoint(), "brokerlab-ready")
        try:
            link.api(f"STREAM.CREATE.{READY}", stream_config(READY, 1, self._settings), 5.0)
            answer = link.run(link.client.request(f"{READY}.0", b"?", timeout=5.0), 10.0)
            link.api(f"STREAM.DELETE.{READY}", seconds=5.0)
        except JetStreamError as e:
            if e.code < 500:
                raise
            raise OSError(str(e)) from e
        except Exception as e:
            # Whatever else goes wrong here means "not yet": nats-py's errors have no base in common with OSError.
            raise OSError(str(e) or type(e).__name__) from e
        finally:
            link.close(time.monotonic_ns() + 2_000_000_000)
        return answer.data.startswith(b'{"stream"')

    def _urls(self) -> list[str]:
        return [f"http://127.0.0.1:{p}" for p in self._http_ports]

    def endpoint(self) -> Endpoint:
        return self._endpoint(self._client_ports, {"monitoring": ",".join(self._urls())})

    def nodes(self) -> tuple[NodeInfo, ...]:
        return self._node_infos("monitoring", self._urls())

    def _leading_node(self, destination: str) -> str:
        """The leader of the destination's stream, asked of a node that runs. While the nodes elect one, it is waited
        for."""
        running = [i for i, process in enumerate(self._processes) if process.is_running()]
        endpoint = self.endpoint()
        addresses = tuple(endpoint.addresses[i] for i in running)
        if not addresses:
            raise BrokerError("no NATS node runs")
        found: list[str] = []

        def led() -> bool:
            try:
                found.append(self._leader(endpoint.model_copy(update={"addresses": addresses}), destination))
            except JetStreamError:
                raise  # it was asked and says no: there is no such stream
            except BrokerError as e:
                raise OSError(str(e)) from e
            return bool(found[-1])

        deadline_mono_ns = time.monotonic_ns() + LEADER_NS
        wait_until(f"a leader of {destination}", led, deadline_mono_ns, died=lambda: (), log_tail=self.log_tail)
        return found[-1]

    def _leader(self, endpoint: Endpoint, destination: str) -> str:
        link = Link(endpoint, "brokerlab-leader")
        try:
            info = link.api(f"STREAM.INFO.{broker_name(destination)}", seconds=5.0)
        finally:
            link.close(time.monotonic_ns() + 2_000_000_000)
        return str(info.get("cluster", {}).get("leader", ""))


def configuration(
    name: str, ports: tuple[int, int, int], store: Path, settings: NatsSettings, routes: list[str], demands: str = ""
) -> str:
    """The configuration file of one node; ports of clients, of figures and of routes. Without routes it is a server of
    its own."""
    client_port, http_port, route_port = ports
    sync = f", sync_interval: {settings.sync_interval}" if settings.sync_interval else ""
    lines = [
        f'server_name: "{name}"',
        f"listen: 127.0.0.1:{client_port}",
        f"http: 127.0.0.1:{http_port}",
        f"max_payload: {settings.max_payload}",
        f'jetstream {{ store_dir: "{store}"{sync} }}',
    ]
    lines += route_lines("brokerlab", f"127.0.0.1:{route_port}", routes)
    return "\n".join(lines) + "\n" + demands


def demands(security: Security | None, certificates: Certificates | None) -> str:
    """What clients must show: TLS, and a user with a password. The password stands in this file and nowhere else."""
    return "".join(f"{line}\n" for line in demand_lines(security, certificates))
