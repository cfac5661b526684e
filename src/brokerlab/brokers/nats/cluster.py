"""NATS servers as child processes on loopback."""

from __future__ import annotations

import time
from pathlib import Path

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.certificates import Certificates, make_certificates
from brokerlab.brokers.kit.local import LocalCluster
from brokerlab.brokers.nats.admin import read_json, stream_config
from brokerlab.brokers.nats.link import JetStreamError, Link, broker_name
from brokerlab.brokers.nats.settings import NatsSettings, settings_of
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint, Security
from brokerlab.processes.ports import HeldPorts
from brokerlab.processes.process import ServerProcess, inherited_environment
from brokerlab.processes.readiness import wait_until
from brokerlab.secrets import secret

READY = "brokerlab_ready"
LEADER_NS = 60_000_000_000


class NatsCluster(LocalCluster):
    """See brokers.contract.Cluster."""

    def __init__(self, cell: CellPlan, program: Path, directory: Path, logs: Path) -> None:
        self._settings = settings_of(cell)
        self._security = cell.security
        self._directory = directory
        self._certificates: Certificates | None = None
        self._held = HeldPorts(3 * cell.nodes)
        ports = self._held.numbers
        self._client_ports = ports[: cell.nodes]
        self._http_ports = ports[cell.nodes : 2 * cell.nodes]
        self._route_ports = ports[2 * cell.nodes :]
        env = inherited_environment(cell.security)
        self._processes = []
        for i in range(cell.nodes):
            name = f"nats-{i + 1}"
            home = directory / name
            command = [str(program), "--config", str(home / "nats.conf")]
            self._processes.append(ServerProcess(name, command, logs / f"{name}.log", home, env))

    def start(self) -> None:
        if self._security is not None and self._security.tls and self._certificates is None:
            self._certificates = make_certificates(self._directory / "certificates")
        for i, process in enumerate(self._processes):
            process.directory.mkdir(parents=True, exist_ok=True)
            file = process.directory / "nats.conf"
            file.touch(mode=0o600)  # it may have a password in it
            file.write_text(self._configuration(i))
            process.start()

    def _configuration(self, i: int) -> str:
        routes = [f"nats://127.0.0.1:{p}" for j, p in enumerate(self._route_ports) if j != i]
        return configuration(
            name=self._processes[i].name,
            client_port=self._client_ports[i],
            http_port=self._http_ports[i],
            store=self._processes[i].directory / "store",
            settings=self._settings,
            route_port=self._route_ports[i],
            routes=routes,
            demands=demands(self._security, self._certificates),
        )

    def wait_ready(self, deadline_mono_ns: int) -> None:
        died, tail = self.dead_nodes, self.log_tail
        wait_until("every node answers", self._answers, deadline_mono_ns, died=died, log_tail=tail, every_s=0.05)
        wait_until(
            f"an acknowledged write with {self._settings.replicas} replicas",
            self._acknowledges,
            deadline_mono_ns,
            died=died,
            log_tail=tail,
        )

    def _answers(self) -> bool:
        """JetStream is on everywhere, and a cluster has agreed on its leader with all peers current."""
        nodes = len(self._processes)
        for url in self._urls():
            meta = read_json(f"{url}/jsz").get("meta_cluster", {})
            if nodes > 1 and (not meta.get("leader") or int(meta.get("cluster_size", 0)) < nodes):
                return False
        return True

    def _acknowledges(self) -> bool:
        try:
            link = Link(self.endpoint(), "brokerlab-ready")
        except BrokerError as e:
            raise OSError(str(e)) from e
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
        addresses = tuple(f"127.0.0.1:{p}" for p in self._client_ports)
        security = self._security
        if security is not None and security.tls:
            security = security.model_copy(update={"ca_file": str(self._directory / "certificates" / "ca.pem")})
        return Endpoint(addresses=addresses, options={"monitoring": ",".join(self._urls())}, security=security)

    def nodes(self) -> tuple[NodeInfo, ...]:
        urls = self._urls()
        return tuple(NodeInfo(p.name, p.pid, {"monitoring": u}) for p, u in zip(self._processes, urls, strict=True))

    def leading_node(self, destination: str) -> str:
        """The leader of the destination's stream, asked of a node that runs. A single node leads everything. While the
        nodes elect one, it is waited for."""
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
        if len(self._processes) == 1:
            return self._processes[0].name
        return str(info.get("cluster", {}).get("leader", ""))


def configuration(
    *,
    name: str,
    client_port: int,
    http_port: int,
    store: Path,
    settings: NatsSettings,
    route_port: int,
    routes: list[str],
    demands: str = "",
) -> str:
    """The configuration file of one node. Without routes it is a server of its own."""
    sync = f", sync_interval: {settings.sync_interval}" if settings.sync_interval else ""
    lines = [
        f'server_name: "{name}"',
        f"listen: 127.0.0.1:{client_port}",
        f"http: 127.0.0.1:{http_port}",
        f"max_payload: {settings.max_payload}",
        f'jetstream {{ store_dir: "{store}"{sync} }}',
    ]
    if routes:
        quoted = ", ".join(f'"{route}"' for route in routes)
        lines.append(f"cluster {{ name: brokerlab, listen: 127.0.0.1:{route_port}, routes: [{quoted}] }}")
    return "\n".join(lines) + "\n" + demands


def demands(security: Security | None, certificates: Certificates | None) -> str:
    """What clients must show: TLS, and a user with a password. The password stands in this file and nowhere else."""
    lines = []
    if certificates is not None:
        files = f'cert_file: "{certificates.certificate_file}", key_file: "{certificates.key_file}"'
        lines.append(f"tls {{ {files}, timeout: 10 }}\n")
    if security is not None and security.user is not None:
        password = "" if security.password is None else secret(security.password)
        lines.append(f"authorization {{ user: {_quoted(security.user)}, password: {_quoted(password)} }}\n")
    return "".join(lines)


def _quoted(text: str) -> str:
    """A string in NATS's configuration language, which knows these escapes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
