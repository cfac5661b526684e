"""PostgreSQL servers as child processes on loopback: a primary, and standbys that follow it."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import psycopg

from brokerlab.brokers.kit.database_cluster import DatabaseCluster
from brokerlab.brokers.postgresql.configuration import (
    AUTHENTICATION_NONE,
    AUTHENTICATION_PASSWORD,
    AUTHENTICATION_TLS,
    follow_line,
    server_file,
)
from brokerlab.brokers.postgresql.connection import conninfo
from brokerlab.brokers.postgresql.settings import settings_of
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan

READY = "brokerlab_ready"


class PostgresqlCluster(DatabaseCluster):
    """See brokers.contract.Cluster and CanLoseANode. Nothing takes over from a primary that is lost: PostgreSQL has no
    such part of its own. It stops before its standbys: one that waits for a standby could not finish."""

    figures = "address"

    def __init__(self, cell: CellPlan, programs: Path, directory: Path, logs: Path) -> None:
        super().__init__(cell, programs / "bin", directory, logs, ports=cell.nodes)
        self._settings = settings_of(cell)
        self._client_ports = self._held.numbers
        self._names = [f"postgresql-{i + 1}" for i in range(cell.nodes)]

    def start(self) -> None:
        """Make one data directory, copy it for the standbys before anything has run in it, and start all."""
        if self._directory.exists():
            shutil.rmtree(self._directory)
        self._open("PostgreSQL")
        self._make_certificates()
        if self._certificates is not None:
            made = self._certificates.ca_file.parent
            for path in (made, *made.iterdir()):
                self._account.give(path)
        self._make_database(self._names[0])
        for name in self._names[1:]:
            self._run(["cp", "-R", "-p", self._names[0], name], "the copy for a standby")
        for i, name in enumerate(self._names):
            self._configure(i, self._directory / name)
        self._processes = [self._database(name) for name in self._names]
        self._start_processes()

    def _configure(self, i: int, home: Path) -> None:
        text = server_file(self._client_ports[i], self._settings, len(self._names) - 1, self._certificates)
        if i > 0:
            trusted = None if self._certificates is None else self._certificates.ca_file
            text += follow_line(self._client_ports[0], i + 1, self._user, self._password_file, trusted)
            signal_file = home / "standby.signal"
            signal_file.touch(mode=0o600)
            self._account.give(signal_file)
        with (home / "postgresql.conf").open("a") as out:
            out.write(text)
        authentication = AUTHENTICATION_PASSWORD if self._password else AUTHENTICATION_NONE
        (home / "pg_hba.conf").write_text(authentication if self._certificates is None else AUTHENTICATION_TLS)

    def wait_ready(self, deadline_mono_ns: int) -> None:
        self._wait("every node answers", self._answers, deadline_mono_ns)
        if len(self._names) > 1:
            self._wait("every standby follows the primary", self._replicates, deadline_mono_ns)
        write = f"a write with synchronous_commit {self._settings['synchronous_commit']}"
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
        endpoint = self.endpoint().model_copy(update={"addresses": (f"127.0.0.1:{self._client_ports[i]}",)})
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

    def _leading_node(self, destination: str) -> str:  # noqa: ARG002 - one primary for all
        for i, process in enumerate(self._processes):
            if process.is_running():
                with contextlib.suppress(OSError):
                    if self._ask(i, "SELECT (NOT pg_is_in_recovery())::int") == 1:
                        return process.name
        raise BrokerError("no PostgreSQL node takes writes", hint="nothing takes over when the primary is lost")
