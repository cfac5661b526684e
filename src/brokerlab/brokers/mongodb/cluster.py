"""FerretDB and the PostgreSQL behind it as child processes on loopback; or a mongod."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.database import (
    USER,
    Database,
    kill_with_children,
    little_environment,
    loopback_settings,
    make_database,
    password_line,
    stop_with_children,
)
from brokerlab.brokers.kit.local import HOST, LocalCluster, not_yet, write_private
from brokerlab.brokers.kit.wire import credentials
from brokerlab.brokers.mongodb.connection import connect, database_of, refusals
from brokerlab.brokers.mongodb.install import Programs
from brokerlab.brokers.mongodb.settings import postgresql_settings, write_concern
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.processes.process import inherited_environment
from brokerlab.processes.unprivileged import Account, account_for

FERRETDB, DATABASE, MONGOD = "ferretdb-1", "postgresql-1", "mongod-1"
READY = "brokerlab_ready"


class MongodbCluster(LocalCluster):
    """One node; see brokers.contract.Cluster. Where it is FerretDB, that is two processes."""

    def __init__(self, cell: CellPlan, programs: Programs, directory: Path, logs: Path) -> None:
        super().__init__(cell, directory, logs, ports=3)
        self._programs = programs
        self._port, self._metrics_port, self._database_port = self._held.numbers
        self._database = f"{HOST}:{self._database_port}"
        self._user, self._password = credentials(cell.security, (USER, ""))

    def start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        env = inherited_environment(self._cell.security)
        if self._programs.mongod is not None:
            self._processes = [self._server(MONGOD, self._mongod_command(self._programs.mongod), env)]
        else:
            self._make_certificates()
            account = account_for("PostgreSQL", self._programs.postgresql, self._directory)
            database_env = self._prepare_database(account)
            program = [*account.prefix, str(self._programs.postgresql / "postgres")]
            postgresql = self._server(DATABASE, [*program, "-D", str(self._data)], database_env)
            self._processes = [postgresql, self._server(FERRETDB, self._ferretdb_command(), env)]
        for process in self._processes:
            process.start()

    @property
    def _data(self) -> Path:
        return self._directory / "data"

    def _mongod_command(self, program: Path) -> list[str]:
        self._data.mkdir(exist_ok=True)
        command = [str(program), *("--dbpath", str(self._data), "--port", str(self._port), "--bind_ip", HOST)]
        return [
            *command,
            *(word for name, value in self._cell.broker_settings.items() for word in (f"--{name}", value)),
        ]

    def _prepare_database(self, account: Account) -> dict[str, str]:
        """Returns its environment: DocumentDB makes collections over a connection to its own server, whose password it
        finds by PGPASSFILE."""
        account.give(self._directory)
        if not (self._data / "PG_VERSION").exists():  # else it is started again, with what it had stored
            make_database(account, self._programs.postgresql, self._data, self._user, self._password or None)
            with (self._data / "postgresql.conf").open("a") as out:
                out.write(database_file(self._database_port, postgresql_settings(self._cell)))
        if not self._password:
            return little_environment()
        file = self._directory / "postgresql-password"
        write_private(file, password_line(self._user, self._password))
        account.give(file)
        return {**little_environment(), "PGPASSFILE": str(file)}

    def _ferretdb_command(self) -> list[str]:
        """The password is in a file of its own: command lines can be read by everybody."""
        file, login = self._directory / "postgresql-url", quote(self._user, safe="")
        login += f":{quote(self._password, safe='')}" if self._password else ""
        write_private(file, f"postgres://{login}@{self._database}/postgres")
        address = f"{HOST}:{self._port}"
        listening = [f"--listen-addr={address}"]
        if self._certificates is not None:
            files = self._certificates
            listening = [
                "--listen-addr=-",
                f"--listen-tls={address}",
                f"--listen-tls-cert-file={files.certificate_file}",
            ]
            listening.append(f"--listen-tls-key-file={files.key_file}")
        return [
            str(self._programs.ferretdb), *listening, f"--postgresql-url-file={file}",
            f"--debug-addr={HOST}:{self._metrics_port}", f"--state-dir={self._directory}", "--telemetry=disable",
            "--log-level=WARN", *([] if self._password else ["--no-auth"]),
        ]  # fmt: skip

    def wait_ready(self, deadline_mono_ns: int) -> None:
        """FerretDB's port opens without a database behind it: only a write proves anything."""
        if self._programs.mongod is None:
            self._wait("PostgreSQL has DocumentDB", self._extended, deadline_mono_ns)
        self._wait("an acknowledged write", self._written, deadline_mono_ns)

    def _extended(self) -> bool:
        database = Database(self._database, self._client_security())
        database.ask("CREATE EXTENSION IF NOT EXISTS documentdb CASCADE")
        database.close()
        return True

    def _written(self) -> bool:
        endpoint = self.endpoint()
        client = connect(endpoint, READY, write_concern(self._cell.durability, self._cell.client_settings))
        try:
            with not_yet(), refusals(endpoint):
                collection = database_of(client, endpoint)[READY]
                collection.insert_one({})
                collection.drop()
        finally:
            client.close()
        return True

    def endpoint(self) -> Endpoint:
        options = {} if self._programs.mongod is not None else {"postgresql": self._database}
        return self._endpoint([self._port], options)

    def nodes(self) -> tuple[NodeInfo, ...]:
        urls = {
            FERRETDB: {"metrics": f"http://{HOST}:{self._metrics_port}/debug/metrics"},
            DATABASE: {"postgresql": self._database},
            MONGOD: {"mongodb": f"{HOST}:{self._port}"},
        }
        return tuple(NodeInfo(p.name, p.pid, urls[p.name]) for p in self._processes)

    def kill_node(self, name: str) -> None:
        kill_with_children({p.name: p for p in self._processes}[name])

    def stop(self) -> None:
        """FerretDB first."""
        for process in reversed(self._processes):
            if process.name == DATABASE:
                stop_with_children(process)
            else:
                process.stop()


def database_file(port: int, settings: Mapping[str, str]) -> str:
    """What is added to postgresql.conf."""
    values = {
        "max_connections": "300",
        "shared_preload_libraries": "pg_cron,pg_documentdb_core,pg_documentdb",
        "cron.database_name": "postgres",
        "cron.use_background_workers": "on",  # it would log in over TCP, without a password
        **settings,
    }
    return loopback_settings(port, values)
