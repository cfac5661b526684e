"""NATS Streaming servers as child processes on loopback."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.certificates import Certificates
from brokerlab.brokers.kit.curly_configuration import demands, listed, quoted, routes
from brokerlab.brokers.kit.http_reader import read_json
from brokerlab.brokers.kit.local import HOST, LocalCluster, trial_destination, write_private
from brokerlab.brokers.nats_streaming.admin import StreamingAdmin
from brokerlab.brokers.nats_streaming.link import StreamingLink, channel_name, client_name
from brokerlab.brokers.nats_streaming.messages import publish_body, publish_error, publish_head
from brokerlab.brokers.nats_streaming.settings import server_settings
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.processes.process import inherited_environment

CLUSTER = "brokerlab"
# A channel whose keeper has gone is deleted after this; keepers are never taken for dead.
_LIMITS = 'max_channels: 0, max_subs: 0, max_msgs: 0, max_bytes: 0, max_inactivity: "1s"'
_FAILED_HEARTBEATS = 1_000_000


class StreamingCluster(LocalCluster):
    """See brokers.contract.Cluster and CanLoseANode."""

    def __init__(self, cell: CellPlan, program: Path, directory: Path, logs: Path) -> None:
        super().__init__(cell, directory, logs, ports=3 * cell.nodes)
        ports = self._held.numbers
        self._ports = list(zip(*(ports[i * cell.nodes : (i + 1) * cell.nodes] for i in range(3)), strict=True))
        env = inherited_environment(cell.security)
        for name in (f"nats-streaming-{i + 1}" for i in range(cell.nodes)):
            command = [str(program), "-c", str(self._directory / name / "server.conf")]
            self._processes.append(self._server(name, command, env))

    def start(self) -> None:
        self._make_certificates()
        for process, ports in zip(self._processes, self._ports, strict=True):
            peers = {p.name: f"nats://{HOST}:{of[2]}" for p, of in zip(self._processes, self._ports, strict=True)}
            text = configuration(process.name, ports, process.directory, self._cell, peers, self._certificates)
            write_private(process.directory / "server.conf", text)
            process.start()

    def wait_ready(self, deadline_mono_ns: int) -> None:
        self._wait("every node answers", self._answers, deadline_mono_ns)
        self._wait("an acknowledged message", self._written, deadline_mono_ns, every_s=0.1)

    def _answers(self) -> bool:
        """And has its place in the Raft group."""
        roles = [_role(url) for url in self._urls()]
        return roles.count("Leader") == 1 and set(roles) <= {"Leader", "Follower"}

    def _written(self) -> bool:
        admin, client = StreamingAdmin(self.endpoint(), self._cell), client_name("ready")
        with trial_destination(admin) as name, StreamingLink.session(self.endpoint()) as link:
            channel = channel_name(name, 0)
            head = publish_head(client, link.join(self.endpoint(), client), channel)
            subject = b"%b.%b" % (link.subjects.publish, channel.encode())
            said = publish_error(link.call(subject, publish_body(head, 1, b"?"), 5.0))
        return not said

    def _urls(self) -> list[str]:
        return [f"http://{HOST}:{ports[1]}" for ports in self._ports]

    def endpoint(self) -> Endpoint:
        options = {"cluster_id": CLUSTER, "monitoring": ",".join(self._urls())}
        return self._endpoint([ports[0] for ports in self._ports], options)

    def nodes(self) -> tuple[NodeInfo, ...]:
        return self._node_infos("monitoring", self._urls())

    def _leading_node(self, destination: str) -> str:  # noqa: ARG002 - one node leads all channels
        urls = dict(zip(self._processes, self._urls(), strict=True))
        return self._the_leader(lambda process: _role(urls[process]) == "Leader")


def _role(url: str) -> str:
    """A single server has none, and leads."""
    return str(read_json(f"{url}/streaming/serverz").get("role", "Leader"))


def configuration(
    name: str, ports: Sequence[int], directory: Path, cell: CellPlan, peers: dict[str, str], tls: Certificates | None
) -> str:
    """One node's file; ports of clients, of figures and of routes. `peers` has where each node of the cluster, this one
    too, is found by the others. There may be a password in it."""
    settings = server_settings(cell.broker_settings)
    store, log = (quoted(str(directory / part)) for part in ("store", "raft"))
    raft = f"node_id: {quoted(name)}, peers: {listed(list(peers))}, log_path: {log}, sync: {settings['sync']}"
    lines = [
        *(f"listen: {HOST}:{ports[0]}", f"http: {HOST}:{ports[1]}", f"max_payload: {settings['max_payload']}"),
        *routes(CLUSTER, f"{HOST}:{ports[2]}", [address for other, address in peers.items() if other != name]),
        *demands(cell.security, tls),
        f"streaming {{\ncluster_id: {CLUSTER}, store: {settings['store']}, dir: {store}",
        f"hb_fail_count: {_FAILED_HEARTBEATS}, store_limits {{ {_LIMITS} }}",
        f"file_options {{ sync_on_flush: {settings['sync']} }}",
        *([f"cluster {{ {raft} }}"] if len(peers) > 1 else []),
        *([f"secure: true, tls {{ client_ca: {quoted(str(tls.ca_file))} }}"] if tls is not None else []),
    ]
    return "\n".join([*lines, "}\n"])
