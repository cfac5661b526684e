"""PostgreSQL servers as child processes on loopback: a primary, and standbys that follow it."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import psycopg

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.database import (
    kill_with_children,
    little_environment,
    make_database,
    password_line,
    run_as,
    stop_with_children,
)
from brokerlab.brokers.kit.local import HOST, LocalCluster, write_private
from brokerlab.brokers.postgresql.configuration import (
    AUTHENTICATION_NONE,
    AUTHENTICATION_PASSWORD,
    AUTHENTICATION_TLS,
    follow_line,
    server_file,
)
from brokerlab.brokers.postgresql.connection import USER, conninfo
from brokerlab.brokers.postgresql.settings import settings_of
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.processes.unprivileged import Account, account_for
from brokerlab.secrets import secret

READY = "brokerlab_ready"


class PostgresqlCluster(LocalCluster):
    """See brokers.contract.Cluster and CanLoseANode. Nothing takes over from a primary that is lost: PostgreSQL has no
    such part of its own."""

    def __init__(self, cell: CellPlan, programs: Path, directory: Path, logs: Path) -> None:
        super().__init__(cell, directory, logs, ports=cell.nodes)
        self._settings = settings_of(cell)
        self._programs = programs
        self._ports = self._held.numbers
        self._names = [f"postgresql-{i + 1}" for i in range(cell.nodes)]

    @property
    def _user(self) -> str:
        return (self._cell.security.user if self._cell.security else None) or USER

    @property
    def _password(self) -> str | None:
        """Resolved; None where the servers ask for none."""
        security = self._cell.security
        return None if security is None or security.password is None else secret(security.password)

    @property
    def _password_file(self) -> Path | None:
        return None if self._password is None else self._directory / "password"

    def start(self) -> None:
        """Make one data directory, copy it for the standbys before anything has run in it, and start all."""
        if self._directory.exists():
            shutil.rmtree(self._directory)
        self._directory.mkdir(parents=True)
        account = account_for("PostgreSQL", self._programs, self._directory)
        account.give(self._directory)
        self._secure(account)
        primary = self._directory / self._names[0]
        make_database(account, self._programs / "bin", primary, self._user, self._password)
        for name in self._names[1:]:
            copy = ["cp", "-R", "-p", str(primary), str(self._directory / name)]
            run_as(account, copy, self._directory, "the copy for a standby")
        for i, name in enumerate(self._names):
            self._configure(i, self._directory / name, account)
        command = [*account.prefix, str(self._programs / "bin" / "postgres"), "-D"]
        self._processes = [
            self._server(name, [*command, str(self._directory / name)], little_environment()) for name in self._names
        ]
        for process in self._processes:
            process.start()

    def _secure(self, account: Account) -> None:
        """The password's file and the certificates, where asked for; both belong to the servers' account."""
        if self._password_file is not None and self._password is not None:
            write_private(self._password_file, password_line(self._user, self._password))
            account.give(self._password_file)
        self._make_certificates()
        if self._certificates is not None:
            made = self._certificates.ca_file.parent
            for path in (made, *made.iterdir()):
                account.give(path)

    def _configure(self, i: int, home: Path, account: Account) -> None:
        text = server_file(self._ports[i], self._settings, len(self._names) - 1, self._certificates)
        if i > 0:
            trusted = None if self._certificates is None else self._certificates.ca_file
            text += follow_line(self._ports[0], i + 1, self._user, self._password_file, trusted)
            signal_file = home / "standby.signal"
            signal_file.touch(mode=0o600)
            account.give(signal_file)
        with (home / "postgresql.conf").open("a") as out:
            out.write(text)
        authentication = AUTHENTICATION_NONE if self._password_file is None else AUTHENTICATION_PASSWORD
        (home / "pg_hba.conf").write_text(authentication if self._certificates is None else AUTHENTICATION_TLS)

    def wait_ready(self, deadline_mono_ns: int) -> None:
        self._wait("every node answers", self._answers, deadline_mono_ns)
        if len(self._names) > 1:
            self._wait("every standby follows the primary", self._replicates, deadline_mono_ns)
        write = f"a write with synchronous_commit {self._settings.synchronous_commit}"
        self._wait(write, self._acknowledges, deadline_mono_ns)

    def _answers(self) -> bool:
        return all(self._ask(i, "SELECT 1") == 1 for i in range(len(self._names)))

    def _replicates(self) -> bool:
        return (
            self._ask(0, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == len(self._names) - 1
        )

    def _acknowledges(self) -> bool:
        """A write that commits the way producers' writes do."""
        made = self._ask(0, f"CREATE TABLE {READY} AS SELECT 1 AS one; DROP TABLE {READY}; SELECT 1", seconds=30)
        return made == 1

    def _ask(self, i: int, question: str, seconds: int = 5) -> int:
        """The number a node answers with. Raises OSError."""
        endpoint = self.endpoint().model_copy(update={"addresses": (f"127.0.0.1:{self._ports[i]}",)})
        settings = f"-c statement_timeout={seconds}s"
        warnings: list[str] = []
        try:
            with psycopg.connect(
                conninfo(endpoint, "brokerlab-ready", writing=False, settings=settings), autocommit=True
            ) as connection:
                connection.add_notice_handler(lambda notice: warnings.append(notice.message_primary or "a warning"))
                cursor = connection.execute(question)
                while cursor.nextset():
                    pass
                row = cursor.fetchone()
        except psycopg.Error as e:
            raise OSError(" ".join(str(e).split())) from e
        if warnings:  # a commit that has given up waiting for a standby succeeds, with a warning only
            raise OSError(warnings[0])
        return int(row[0]) if row else 0

    def endpoint(self) -> Endpoint:
        return self._endpoint(self._ports)

    def nodes(self) -> tuple[NodeInfo, ...]:
        return self._node_infos("address", [f"{HOST}:{port}" for port in self._ports])

    def leading_node(self, destination: str) -> str:  # noqa: ARG002 - one primary for all
        for i, process in enumerate(self._processes):
            if process.is_running():
                with contextlib.suppress(OSError):
                    if self._ask(i, "SELECT (NOT pg_is_in_recovery())::int") == 1:
                        return process.name
        raise BrokerError("no PostgreSQL node takes writes", hint="nothing takes over when the primary is lost")

    def kill_node(self, name: str) -> None:
        kill_with_children({p.name: p for p in self._processes}[name])

    def stop(self) -> None:
        """Standbys last: a primary that waits for one could not finish."""
        for process in self._processes:
            stop_with_children(process)
