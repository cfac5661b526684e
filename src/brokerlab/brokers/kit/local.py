"""What clusters do alike whose nodes are one child process each."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from brokerlab.brokers.contract import Admin, LinkInfo, NodeInfo
from brokerlab.brokers.kit.certificates import Certificates, certificate_files, make_certificates
from brokerlab.errors import BrokerError
from brokerlab.lifeline import from_lasting_thread
from brokerlab.model.plan import CellPlan, Endpoint, Security
from brokerlab.processes.confinement import Confinement
from brokerlab.processes.links import CappedLinks
from brokerlab.processes.ports import HeldPorts
from brokerlab.processes.process import ServerProcess, stop_together
from brokerlab.processes.readiness import wait_until

HOST = "127.0.0.1"
_LEADER_NS = 60_000_000_000
_TRIAL = "brokerlab_ready"


class LocalCluster:
    """A part of brokers.contract.Cluster and CanRestartANode. What is left: making `_processes`, the files they read,
    readiness, and who leads where there are several nodes; `endpoint` and `nodes`, unless clients find all at
    `_client_ports`, one of each node."""

    # Stop all nodes at once, within so much time; None: one after the other.
    stop_together_s: ClassVar[float | None] = None
    figures: ClassVar[str]  # what NodeInfo.urls calls the address of clients
    _client_ports: Sequence[int]

    def __init__(self, cell: CellPlan, directory: Path, logs: Path, ports: int) -> None:
        self._cell = cell
        self._directory = directory.absolute()  # with all data
        self._logs = logs.absolute()
        self._held = HeldPorts(ports)
        self._confinement = Confinement(cell.machine, self._directory)
        self._links = CappedLinks(cell.machine, self._directory, self._logs)
        self._processes: list[ServerProcess] = []
        tls = cell.security is not None and cell.security.tls
        self._certificates: Certificates | None = certificate_files(self._directory / "certificates") if tls else None

    def _server(
        self, name: str, command: Sequence[str], env: Mapping[str, str], kind: type[ServerProcess] = ServerProcess
    ) -> ServerProcess:
        """A node that works in a directory of its own among the data."""
        log, directory = self._logs / f"{name}.log", self._directory / name
        return kind(name, command, log, directory, env, self._confinement)

    def start(self) -> None:
        self._start_processes()

    def _start_processes(self, some: Sequence[ServerProcess] | None = None) -> None:
        """All of them, or these: where they are not running. After a kill the others still do."""
        for process in self._processes if some is None else some:
            if not process.is_running():
                process.start()

    def _make_certificates(self) -> None:
        """Where the cell asks for TLS and they are not there from an earlier start."""
        if self._certificates is not None and not self._certificates.ca_file.exists():
            make_certificates(self._certificates.ca_file.parent)

    def _client_security(self) -> Security | None:
        """The cell's, with the authority that has signed our certificate."""
        security = self._cell.security
        if security is None or self._certificates is None:
            return security
        return security.model_copy(update={"ca_file": str(self._certificates.ca_file)})

    def _endpoint(self, ports: Sequence[int], options: Mapping[str, str] | None = None) -> Endpoint:
        addresses = tuple(f"{HOST}:{self._links.port_for(port)}" for port in ports)
        return Endpoint(addresses=addresses, options=dict(options or {}), security=self._client_security())

    def endpoint(self) -> Endpoint:
        return self._endpoint(self._client_ports)

    def nodes(self) -> tuple[NodeInfo, ...]:
        return self._node_infos(self.figures, [f"{HOST}:{port}" for port in self._client_ports])

    def _node_infos(self, kind: str, urls: Sequence[str]) -> tuple[NodeInfo, ...]:
        """Each node with the one place where its figures are read."""
        return self._nodes_at([{kind: url} for url in urls])

    def _nodes_at(self, urls: Sequence[dict[str, str]]) -> tuple[NodeInfo, ...]:
        """Each node with the places where its figures are read."""
        return tuple(NodeInfo(p.name, p.pid, own) for p, own in zip(self._processes, urls, strict=True))

    def _wait(self, what: str, condition: Callable[[], bool], deadline_mono_ns: int, every_s: float = 0.05) -> None:
        """Until the condition holds. Raises NotReadyError or BrokerDiedError."""
        wait_until(what, condition, deadline_mono_ns, died=self.dead_nodes, log_tail=self.log_tail, every_s=every_s)

    def _the_leader(self, ask: Callable[[ServerProcess], bool]) -> str:
        """The one running node of which `ask` says that it leads, asked until there is one: an election takes seconds.
        An OSError means that it does not say so now. Raises NotReadyError."""
        found: list[str] = []

        def led() -> bool:
            found[:] = [p.name for p in self._processes if p.is_running() and ask(p)]
            return len(found) == 1

        until = time.monotonic_ns() + _LEADER_NS
        wait_until("one leading node", led, until, died=lambda: (), log_tail=self.log_tail)
        return found[0]

    def dead_nodes(self) -> tuple[str, ...]:
        return tuple(p.name for p in (*self._processes, *self._links.processes) if p.died())

    def links(self) -> tuple[LinkInfo, ...]:
        return self._links.infos()

    def leading_node(self, destination: str) -> str:
        """A single node leads everything, also while it does not answer."""
        return self._processes[-1].name if self._cell.nodes == 1 else self._leading_node(destination)

    def _leading_node(self, destination: str) -> str:
        """Asked of the broker, where there are several nodes."""
        raise NotImplementedError

    def kill_node(self, name: str) -> None:
        for process in self._processes_of(name):
            process.kill()

    def restart_node(self, name: str) -> None:
        """Its processes alone: `start` writes files, and some brokers' begins with new data."""
        from_lasting_thread(lambda: self._start_processes(self._processes_of(name)))

    def _processes_of(self, name: str) -> Sequence[ServerProcess]:
        """What a node consists of, in order of starting. Raises KeyError for a name that no node has."""
        return [{p.name: p for p in self._processes}[name]]

    def log_tail(self, lines: int = 20, of: Collection[str] = ()) -> str:
        return tails(self._processes, lines, of)

    def stop(self) -> None:
        if self.stop_together_s is not None:
            stop_together(self._processes, self.stop_together_s)
        else:
            for process in self._processes:
                process.stop()

    def clean(self) -> None:
        self._links.end()
        shutil.rmtree(self._directory, ignore_errors=True)
        self._confinement.end()


def tails(processes: Iterable[ServerProcess], lines: int, of: Collection[str]) -> str:
    return "\n".join(f"[{p.name}]\n{p.log_tail(lines)}" for p in processes if not of or p.name in of)


@contextmanager
def not_yet() -> Iterator[None]:
    """In a proof of readiness: what a broker refuses now it may grant soon, so it is an OSError, which `_wait` expects."""
    try:
        yield
    except BrokerError as e:
        raise OSError(e.message) from e


@contextmanager
def trial_destination(admin: Admin, partitions: int = 1) -> Iterator[str]:
    """The same, with a destination made for it, which is deleted when the proof is there."""
    with not_yet():
        admin.create((_TRIAL,), partitions, ())
        yield _TRIAL
        admin.delete((_TRIAL,), ())


def write_private(path: Path, text: str, mode: int = 0o600) -> None:
    """A file that only its owner may read, because there may be a password in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text)
    path.chmod(mode)
