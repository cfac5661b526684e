"""Redis or Valkey servers as child processes on loopback: one; a master with replicas; a cluster of such."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from brokerlab.brokers.kit.local import LocalCluster, not_yet, write_private
from brokerlab.brokers.redis.connection import Connection, ServerError, lacks
from brokerlab.brokers.redis.forming import Forming
from brokerlab.brokers.redis.keys import Placement, find_placement, key_of
from brokerlab.brokers.redis.names import is_clustered, replicas_of_a_master, server_name
from brokerlab.brokers.redis.outcomes import confirmed
from brokerlab.brokers.redis.server import Access, Place, configuration
from brokerlab.brokers.redis.settings import settings_of, waiting_of
from brokerlab.model.plan import CellPlan
from brokerlab.secrets import secret

READY = "brokerlab-ready"


class RedisCluster(LocalCluster):
    """See brokers.contract.Cluster and CanLoseANode."""

    figures = "redis"

    def __init__(self, cell: CellPlan, program: Path, directory: Path, logs: Path) -> None:
        self._clustered = is_clustered(cell.broker)
        super().__init__(cell, directory, logs, ports=cell.nodes * (2 if self._clustered else 1))
        self._settings = settings_of(cell)
        self._waiting = waiting_of(cell.durability, cell.client_settings)
        self._replicas = replicas_of_a_master(cell.broker, cell.nodes)
        ports = self._held.numbers
        self._client_ports, self._bus_ports = ports[: cell.nodes], ports[cell.nodes :]
        # Not our whole environment: it may hold the password. C: the private C library has no other locales.
        env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": str(self._directory)}
        for i in range(cell.nodes):
            name = f"{server_name(cell.broker)}-{i + 1}"
            command = [str(program), str(self._directory / name / "node.conf")]
            self._processes.append(self._server(name, command, env))
        self._forming = Forming(cell.nodes)

    def start(self) -> None:
        self._make_certificates()
        access = self._access()
        for i, process in enumerate(self._processes):
            write_private(process.directory / "node.conf", configuration(self._place(i), self._settings, access))
            process.start()

    def _place(self, i: int) -> Place:
        data = self._processes[i].directory
        if self._clustered:
            return Place(self._client_ports[i], data, bus_port=self._bus_ports[i])
        return Place(self._client_ports[i], data, master_port=None if i == 0 else self._client_ports[0])

    def _access(self) -> Access:
        security = self._cell.security
        if security is None:
            return Access()
        password = None if security.password is None else secret(security.password)
        return Access(self._certificates, security.user, password)

    def wait_ready(self, deadline_mono_ns: int) -> None:
        steps = [("every node answers", self._answers)]
        if self._clustered:
            steps.append(("the cluster is formed", lambda: self._forming.step(self._connections(), self._bus_ports)))
        steps.append((f"{self._replicas} replicas follow each master", self._replicates))
        steps.append(("an acknowledged write on each master", self._acknowledges))
        for what, condition in steps:
            self._wait(what, condition, deadline_mono_ns)

    def _connections(self) -> list[Connection]:
        """To every node. Raises OSError for "not yet"."""
        with not_yet():
            return [Connection(a, self._client_security(), "brokerlab-ready", 5.0) for a in self.endpoint().addresses]

    def _answers(self) -> bool:
        return all(self._call(address, ("PING",)) == "PONG" for address in self.endpoint().addresses)

    def _placement(self) -> Placement:
        with not_yet():
            return find_placement(self.endpoint(), self._clustered, 5.0)

    def _replicates(self) -> bool:
        """Every master sees all its replicas online: not merely connected, but past their first synchronisation."""
        told = [str(self._call(address, ("INFO", "replication"))) for address in self._placement().masters]
        return all(info.count("state=online") >= self._replicas for info in told)

    def _call(self, address: str, *commands: tuple[str | int, ...]) -> object:
        """The last command's reply. Raises OSError; BrokerError for a command that the server does not know, which
        waiting would not change."""
        with not_yet():
            connection = Connection(address, self._client_security(), "brokerlab-ready", 5.0)
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
            if self._waiting.command_words:
                write.append(replace(self._waiting, timeout_ms=5000).command_words)
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

    def _leading_node(self, destination: str) -> str:
        address = find_placement(self.endpoint(), self._clustered).address_of(key_of(destination, 0))
        return self._processes[self._client_ports.index(int(address.rpartition(":")[2]))].name
