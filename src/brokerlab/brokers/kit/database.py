"""Database servers whose data directory `initdb` makes, also behind another product: made, configured, asked, read from.
They refuse to run as root: see processes.unprivileged."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brokerlab.brokers.contract import Reading
from brokerlab.brokers.kit.database_metrics import DATABASE, WAL
from brokerlab.brokers.kit.local import HOST, write_private
from brokerlab.brokers.kit.probing import readings_of
from brokerlab.brokers.kit.wire import credentials, split_address
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Security
from brokerlab.model.watched import WatchedMetric, fields_of
from brokerlab.processes.children import children_of, end_all
from brokerlab.processes.process import ServerProcess
from brokerlab.processes.unprivileged import Account

if TYPE_CHECKING:
    import psycopg

USER = "brokerlab"  # the first user, where no other is asked for
_LAST_LINES = 5
_ANSWER_S = 5
_CHILDREN_S = 30.0


def little_environment() -> dict[str, str]:
    """No PG* variable of the user's, and no secret."""
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "TZ": "UTC"}


def make_database(account: Account, programs: Path, home: Path, user: str, password: str | None) -> None:
    """A new data directory `home`, by the initdb in `programs`; whoever comes must know the password, where there is one.
    Raises BrokerError with what initdb says."""
    command = [str(programs / "initdb"), "-D", str(home), "-U", user, "-E", "UTF8", "--no-locale"]
    once = home.with_name("initial-password")
    if password is None:
        command += ["--auth=trust"]
    else:
        write_private(once, password + "\n")
        account.give(once)
        command += ["--auth=scram-sha-256", f"--pwfile={once}"]
    try:
        run_as(account, command, home.parent, "initdb")
    finally:
        once.unlink(missing_ok=True)


def run_as(account: Account, command: list[str], directory: Path, what: str) -> None:
    """To its end. Raises BrokerError where it fails."""
    done = subprocess.run(
        [*account.prefix, *command],
        cwd=directory, env=little_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        said = "\n".join((done.stderr or done.stdout).splitlines()[-_LAST_LINES:])
        raise BrokerError(f"the database could not be prepared, {what} failed:\n{said}", hint="see above")


def password_line(user: str, password: str) -> str:
    """A line of libpq's password file, for every server and database."""
    escaped = [text.replace("\\", "\\\\").replace(":", "\\:") for text in (user, password)]
    return f"*:*:*:{':'.join(escaped)}\n"


def loopback_settings(port: int, settings: Mapping[str, str]) -> str:
    """Lines for the configuration file of a server that is reached over loopback only."""
    values = {
        "listen_addresses": HOST,
        "port": str(port),
        "unix_socket_directories": "",
        "password_encryption": "scram-sha-256",
        "lc_messages": "C",
        "log_min_messages": "warning",
        **settings,
    }
    return "".join(f"{name} = {quoted(value)}\n" for name, value in values.items())


def quoted(text: str) -> str:
    """A value as configuration files have it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def kill_with_children(process: ServerProcess) -> None:
    """A server has a process for each client, in a session of its own."""
    family = children_of(process)
    process.kill()
    end_all(family, _CHILDREN_S)


def stop_with_children(process: ServerProcess) -> None:
    """At once: on SIGTERM it would wait for its clients to go."""
    family = children_of(process)
    process.stop(first=signal.SIGINT)
    end_all(family, _CHILDREN_S)


class Database:
    """Asked over a connection that is kept: a new one is a new process of the server."""

    def __init__(self, address: str, security: Security | None) -> None:
        self._address, self._security = address, security
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        """The rows of one statement, none where it gives none. Raises OSError."""
        import psycopg

        try:
            if self._connection is None or self._connection.broken:
                self._connection = psycopg.connect(self._conninfo(), autocommit=True)
            cursor = self._connection.execute(question.encode())
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as e:
            self.close()
            raise OSError(" ".join(str(e).split())) from e

    def readings(self, subject: str, rows: Sequence[WatchedMetric]) -> list[Reading]:
        """The server's own figures, of those in kit.database_metrics. Raises OSError."""
        known = {**fields_of(rows, DATABASE), **fields_of(rows, WAL)}
        asked = f"SELECT {', '.join(known)} FROM {DATABASE}, {WAL} WHERE datname = current_database()"
        (values,) = self.ask(asked)
        return readings_of(subject, dict(zip(known, values, strict=True)), known)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def __del__(self) -> None:
        self.close()

    def _conninfo(self) -> str:
        """With the password in it: never shown, logged or given to another process."""
        from psycopg.conninfo import make_conninfo

        host, port = split_address(self._address)
        user, password = credentials(self._security, (USER, ""))
        login = {"user": user, **({"password": password} if password else {})}
        waits = {"connect_timeout": _ANSWER_S, "tcp_user_timeout": 1000 * _ANSWER_S}
        return make_conninfo("", host=host, port=port, dbname="postgres", gssencmode="disable", **waits, **login)
