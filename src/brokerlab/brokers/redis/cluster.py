"""Redis or Valkey servers as child processes on loopback: one; a master with replicas; a cluster of such."""

from __future__ import annotations

import os
from pathlib import Path

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.certificates import make_certificates
from brokerlab.brokers.kit.local import LocalCluster
from brokerlab.brokers.redis.connection import Connection, ServerError, lacks
from brokerlab.brokers.redis.forming import MASTERS, Forming
from brokerlab.brokers.redis.keys import Placement, find_placement, key_of
from brokerlab.brokers.redis.outcomes import confirmed
from brokerlab.brokers.redis.server import Access, Place, configuration
from brokerlab.brokers.redis.settings import settings_of, waiting_of
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint, Security
from brokerlab.processes.ports import HeldPorts
from brokerlab.processes.process import ServerProcess
from brokerlab.processes.readiness import wait_until
from brokerlab.secrets import secret

READY = "brokerlab-ready"


class RedisCluster(LocalCluster):
    """See brokers.contract.Cluster and CanLoseANode."""

    def __init__(
        self, cell: CellPlan, product: str, program: Path, clustered: bool, directory: Path, logs: Path
    ) -> None:
        self._cell, self._clustered, self._directory = cell, clustered, directory
        self._settings = settings_of(cell)
        self._waiting = waiting_of(cell.durability, cell.client_settings)
        self._replicas = cell.nodes // MASTERS - 1 if clustered else cell.nodes - 1
        self._held = HeldPorts(cell.nodes * (2 if clustered else 1))
        ports = self._held.numbers
        self._ports, self._bus_ports = ports[: cell.nodes], ports[cell.nodes :]
        # Not our whole environment: it may hold the password. C: the private C library has no other locales.
        env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": str(directory)}
        self._processes = []
        for i in range(cell.nodes):
            name = f"{product.lower()}-{i + 1}"
            home = directory / name
            self._processes.append(
                ServerProcess(name, [str(program), str(home / "node.conf")], logs / f"{name}.log", home, env)
            )
        self._forming = Forming(cell.nodes)

    def start(self) -> None:
        access = self._access()
        for i, process in enumerate(self._processes):
            process.directory.mkdir(parents=True, exist_ok=True)
            file = process.directory / "node.conf"
            file.touch(mode=0o600)
            file.chmod(0o600)
            file.write_text(configuration(self._place(i), self._settings, access))
            process.start()

    def _place(self, i: int) -> Place:
        data = self._processes[i].directory
        if self._clustered:
            return Place(self._ports[i], data, bus_port=self._bus_ports[i])
        return Place(self._ports[i], data, master_port=None if i == 0 else self._ports[0])

    def _access(self) -> Access:
        security = self._cell.security
        if security is None:
            return Access()
        certificates = make_certificates(self._directory / "tls") if security.tls else None
        password = None if security.password is None else secret(security.password)
        return Access(certificates, security.user, password)

    def _security(self) -> Security | None:
        """As clients need it, with the authority that signed our certificate."""
        security = self._cell.security
        if security is None or not security.tls:
            return security
        return security.model_copy(update={"ca_file": str(self._directory / "tls" / "ca.pem")})

    def wait_ready(self, deadline_mono_ns: int) -> None:
        steps = [("every node answers", self._answers)]
        if self._clustered:
            steps.append(("the cluster is formed", lambda: self._forming.step(self._connections(), self._bus_ports)))
        steps.append((f"{self._replicas} replicas follow each master", self._replicates))
        steps.append(("an acknowledged write on each master", self._acknowledges))
        for what, condition in steps:
            wait_until(what, condition, deadline_mono_ns, died=self.dead_nodes, log_tail=self.log_tail, every_s=0.05)

    def _connect(self, i: int) -> Connection:
        """Raises OSError for "not yet"."""
        try:
            return Connection(f"127.0.0.1:{self._ports[i]}", self._security(), "brokerlab-ready", 5.0)
        except BrokerError as e:
            raise OSError(e.message) from e

    def _connections(self) -> list[Connection]:
        return [self._connect(i) for i in range(len(self._ports))]

    def _answers(self) -> bool:
        for i in range(len(self._ports)):
            connection = self._connect(i)
            try:
                connection.call("PING", seconds=5.0)
            except ServerError as e:
                raise OSError(e.message) from e
            finally:
                connection.close()
        return True

    def _placement(self) -> Placement:
        try:
            return find_placement(self.endpoint(), self._clustered, 5.0)
        except BrokerError as e:
            raise OSError(e.message) from e

    def _replicates(self) -> bool:
        """Every master sees all its replicas online: not merely connected, but past their first synchronisation."""
        return all(
            sum(1 for follower in followers if follower) >= self._replicas
            for followers in (self._online(address) for address in self._placement().masters)
        )

    def _online(self, address: str) -> list[bool]:
        info = str(self._call(address, ("INFO", "replication")))
        return ["state=online" in line for line in info.splitlines() if line.startswith("slave")]

    def _call(self, address: str, *commands: tuple[str | int, ...]) -> object:
        """The last command's reply. Raises OSError; BrokerError for a command that the server does not know, which
        waiting would not change."""
        try:
            connection = Connection(address, self._security(), "brokerlab-ready", 5.0)
        except BrokerError as e:
            raise OSError(e.message) from e
        try:
            for command in commands:
                reply = connection.call(*command, seconds=10.0)
        except ServerError as e:
            if "unknown command" in e.message:
                raise lacks(address, str(command[0])) from e
            raise OSError(e.message) from e
        finally:
            connection.close()
        return reply.decode() if isinstance(reply, bytes) else reply

    def _acknowledges(self) -> bool:
        """With the acknowledgement that producers will ask for, on each master."""
        for address, key in self._one_key_each().items():
            write: list[tuple[str | int, ...]] = [("XADD", key, "*", "d", "?")]
            if self._waiting.command != "none":
                local = (1,) if self._waiting.command == "WAITAOF" else ()
                write.append((self._waiting.command, *local, self._waiting.replicas, 5000))
                good, said = confirmed(self._call(address, *write), self._waiting.replicas)
                if not good:
                    raise OSError(said)
            else:
                self._call(address, *write)
            self._call(address, ("DEL", key))
        return True

    def _one_key_each(self) -> dict[str, str]:
        placement = self._placement()
        found: dict[str, str] = {}
        for number in range(1000):
            found.setdefault(placement.address_of(key_of(READY, number)), key_of(READY, number))
            if len(found) == len(placement.masters):
                break
        return found

    def endpoint(self) -> Endpoint:
        return Endpoint(addresses=tuple(f"127.0.0.1:{p}" for p in self._ports), security=self._security())

    def nodes(self) -> tuple[NodeInfo, ...]:
        security = self._security()
        given = {} if security is None else security.model_dump(exclude_none=True)
        access = {name: str(value) for name, value in given.items() if value is not False}
        return tuple(
            NodeInfo(process.name, process.pid, {"redis": f"127.0.0.1:{port}"} | access)
            for process, port in zip(self._processes, self._ports, strict=True)
        )

    def leading_node(self, destination: str) -> str:
        address = find_placement(self.endpoint(), self._clustered).address_of(key_of(destination, 0))
        return self._processes[self._ports.index(int(address.rpartition(":")[2]))].name
