"""NATS servers as child processes on loopback."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.nats.admin import read_json, stream_config
from brokerlab.brokers.nats.link import JetStreamError, Link
from brokerlab.brokers.nats.settings import NatsSettings, settings_of
from brokerlab.cluster.ports import free_ports
from brokerlab.cluster.process import ServerProcess
from brokerlab.cluster.readiness import wait_until
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint

READY = "brokerlab_ready"


class NatsCluster:
    """See brokers.contract.Cluster."""

    def __init__(self, cell: CellPlan, program: Path, directory: Path, logs: Path) -> None:
        self._settings = settings_of(cell)
        self._directory = directory
        ports = free_ports(3 * cell.nodes)
        self._client_ports = ports[: cell.nodes]
        self._http_ports = ports[cell.nodes : 2 * cell.nodes]
        self._route_ports = ports[2 * cell.nodes :]
        self._processes = []
        for i in range(cell.nodes):
            name = f"nats-{i + 1}"
            home = directory / name
            command = [str(program), "--config", str(home / "nats.conf")]
            self._processes.append(ServerProcess(name, command, logs / f"{name}.log", home, os.environ))

    def start(self) -> None:
        for i, process in enumerate(self._processes):
            process.directory.mkdir(parents=True, exist_ok=True)
            (process.directory / "nats.conf").write_text(self._configuration(i))
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
        return Endpoint(addresses=addresses, options={"monitoring": ",".join(self._urls())})

    def nodes(self) -> tuple[NodeInfo, ...]:
        urls = self._urls()
        return tuple(NodeInfo(p.name, p.pid, {"monitoring": u}) for p, u in zip(self._processes, urls, strict=True))

    def dead_nodes(self) -> tuple[str, ...]:
        return tuple(p.name for p in self._processes if p.died())

    def log_tail(self, lines: int = 20) -> str:
        return "\n".join(f"[{p.name}]\n{p.log_tail(lines)}" for p in self._processes)

    def stop(self) -> None:
        for process in self._processes:
            process.stop()

    def clean(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


def configuration(
    *,
    name: str,
    client_port: int,
    http_port: int,
    store: Path,
    settings: NatsSettings,
    route_port: int,
    routes: list[str],
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
    return "\n".join(lines) + "\n"
