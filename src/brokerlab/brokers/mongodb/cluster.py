"""FerretDB and the PostgreSQL behind it as child processes on loopback; or a mongod."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.database import Database
from brokerlab.brokers.kit.database_cluster import DatabaseCluster, loopback_settings
from brokerlab.brokers.kit.database_settings import server_settings
from brokerlab.brokers.kit.local import HOST, LocalCluster, not_yet, write_private
from brokerlab.brokers.mongodb.admin import MongodbAdmin
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.processes.process import ServerProcess, inherited_environment

FERRETDB, DATABASE, MONGOD = "ferretdb-1", "postgresql-1", "mongod-1"
READY = "brokerlab_ready"
EXTENSION = {
    "shared_preload_libraries": "pg_cron,pg_documentdb_core,pg_documentdb",
    "cron.database_name": "postgres",
    "cron.use_background_workers": "on",  # it would log in over TCP, without a password
}


def cluster_for(
    cell: CellPlan, programs: Path | tuple[Path, Path], directory: Path, logs: Path
) -> MongodCluster | FerretdbCluster:
    """See mongodb.install for `programs`."""
    if isinstance(programs, Path):
        return MongodCluster(cell, programs, directory, logs)
    return FerretdbCluster(cell, *programs, directory, logs)


def _is_written(endpoint: Endpoint, cell: CellPlan) -> bool:
    """With the acknowledgement that producers will ask for."""
    with not_yet(), contextlib.closing(MongodbAdmin(endpoint, cell)) as admin:
        admin.delete((READY,), ())  # of an attempt that was cut off
        admin.create((READY,), 1, ())
        admin.delete((READY,), ())
    return True


class MongodCluster(LocalCluster):
    """One node, of the user's programs; see brokers.contract.Cluster."""

    figures = "mongodb"

    def __init__(self, cell: CellPlan, program: Path, directory: Path, logs: Path) -> None:
        super().__init__(cell, directory, logs, ports=1)
        self._client_ports = self._held.numbers
        command = [str(program), "--dbpath", ".", "--bind_ip", HOST, "--port", str(self._client_ports[0])]
        command += [word for name, value in cell.broker_settings.items() for word in (f"--{name}", value)]
        self._processes = [self._server(MONGOD, command, inherited_environment(cell.security))]

    def wait_ready(self, deadline_mono_ns: int) -> None:
        self._wait("an acknowledged write", lambda: _is_written(self.endpoint(), self._cell), deadline_mono_ns)


class FerretdbCluster(DatabaseCluster):
    """One node of two processes, of which FerretDB stops first; see brokers.contract.Cluster."""

    def __init__(self, cell: CellPlan, postgres: Path, ferretdb: Path, directory: Path, logs: Path) -> None:
        super().__init__(cell, postgres.parent, directory, logs, ports=3)
        self._ferretdb = ferretdb
        self._port, self._metrics_port, self._database_port = self._held.numbers
        self._behind = f"{HOST}:{self._database_port}"

    def start(self) -> None:
        self._open("PostgreSQL")
        self._make_certificates()
        home = self._directory / DATABASE
        if not home.exists():  # else it is started again, with what it had stored
            self._make_database(DATABASE)
            with (home / "postgresql.conf").open("a") as out:
                out.write(loopback_settings(self._database_port, EXTENSION | server_settings(self._cell)))
        ferretdb = self._server(FERRETDB, self._ferretdb_command(), inherited_environment(self._cell.security))
        self._processes = [ferretdb, self._database(DATABASE)]
        self._start_processes()

    def _ferretdb_command(self) -> list[str]:
        """The password is in a file of its own: command lines can be read by everybody."""
        file, words = self._directory / "postgresql-url", filter(None, (self._user, self._password))
        login = ":".join(quote(word, safe="") for word in words)
        write_private(file, f"postgres://{login}@{self._behind}/postgres")
        options: dict[str, object] = {"listen-addr": f"{HOST}:{self._port}"}
        if (own := self._certificates) is not None:
            options = {"listen-addr": "-", "listen-tls": f"{HOST}:{self._port}"}
            options |= {"listen-tls-cert-file": own.certificate_file, "listen-tls-key-file": own.key_file}
        options |= {"postgresql-url-file": file, "debug-addr": f"{HOST}:{self._metrics_port}"}
        options |= {"state-dir": self._directory, "telemetry": "disable", "log-level": "WARN"}
        command = [str(self._ferretdb), *(f"--{name}={value}" for name, value in options.items())]
        return command if self._password else [*command, "--no-auth"]

    def wait_ready(self, deadline_mono_ns: int) -> None:
        """FerretDB's port opens without a database behind it: only a write proves anything."""
        self._wait("PostgreSQL has DocumentDB", self._is_extended, deadline_mono_ns)
        self._wait("an acknowledged write", lambda: _is_written(self.endpoint(), self._cell), deadline_mono_ns)

    def _is_extended(self) -> bool:
        Database(self._behind, self._client_security()).ask("CREATE EXTENSION IF NOT EXISTS documentdb CASCADE")
        return True

    def endpoint(self) -> Endpoint:
        return self._endpoint([self._port], {"postgresql": self._behind})

    def nodes(self) -> tuple[NodeInfo, ...]:
        metrics = f"http://{HOST}:{self._metrics_port}/debug/metrics"
        return self._nodes_at([{"metrics": metrics}, {"postgresql": self._behind}])

    def leading_node(self, destination: str) -> str:  # noqa: ARG002 - one node for all
        return FERRETDB

    def _processes_of(self, name: str) -> Sequence[ServerProcess]:
        """Both: FerretDB keeps nothing itself, and its port would stay open without a database behind it."""
        super()._processes_of(name)
        return self._processes
