"""Database servers whose data directory `initdb` makes, as child processes on loopback, also behind another server. They
refuse to run as root: see processes.unprivileged."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from brokerlab.brokers.kit.database import USER
from brokerlab.brokers.kit.local import HOST, LocalCluster, write_private
from brokerlab.brokers.kit.wire import credentials
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan
from brokerlab.processes.children import children_of, end_all
from brokerlab.processes.process import ServerProcess
from brokerlab.processes.unprivileged import Account, account_for

_LAST_LINES = 5
_CHILDREN_S = 30.0


class DatabaseProcess(ServerProcess):
    """A server that has a process for each client, in a session of its own: they end with it."""

    def kill(self) -> None:
        family = children_of(self)
        super().kill()
        end_all(family, _CHILDREN_S)

    def stop(self, grace_s: float = 10.0, first: int = signal.SIGINT) -> None:
        """At once: on SIGTERM it would wait for its clients to go."""
        family = children_of(self)
        super().stop(grace_s, first)
        end_all(family, _CHILDREN_S)


class DatabaseCluster(LocalCluster):
    """See kit.local.LocalCluster. `_open` comes first. A server's data directory is called as the server."""

    _account: Account  # whom the servers run as

    def __init__(self, cell: CellPlan, programs: Path, directory: Path, logs: Path, ports: int) -> None:
        """`programs`: the directory of initdb and of the server."""
        super().__init__(cell, directory, logs, ports)
        self._programs = programs
        self._user, self._password = credentials(cell.security, (USER, ""))
        self._password_file = self._directory / "password" if self._password else None

    def _open(self, product: str) -> None:
        """The directory of all data and the password's file, where there is one; both are the servers' own."""
        self._directory.mkdir(parents=True, exist_ok=True)
        self._account = account_for(product, self._programs, self._directory)
        self._account.give(self._directory)
        if self._password_file is not None:
            write_private(self._password_file, password_line(self._user, self._password))
            self._account.give(self._password_file)

    def _make_database(self, name: str) -> None:
        """A new data directory; whoever comes must know the password, where there is one. Raises BrokerError with what
        initdb says."""
        command = [str(self._programs / "initdb"), "-D", name, "-U", self._user, "-E", "UTF8", "--no-locale"]
        once = self._directory / "initial-password"
        if not self._password:
            command += ["--auth=trust"]
        else:
            write_private(once, self._password + "\n")
            self._account.give(once)
            command += ["--auth=scram-sha-256", f"--pwfile={once}"]
        try:
            self._run(command, "initdb")
        finally:
            once.unlink(missing_ok=True)

    def _run(self, command: list[str], what: str) -> None:
        """As the servers' account, in the directory of all data, to its end. Raises BrokerError where it fails."""
        done = subprocess.run(
            [*self._account.prefix, *command],
            cwd=self._directory, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            said = "\n".join((done.stderr or done.stdout).splitlines()[-_LAST_LINES:])
            raise BrokerError(f"the database could not be prepared, {what} failed:\n{said}", hint="see above")

    def _database(self, name: str) -> ServerProcess:
        """The server. It finds the password where it connects to another one, or to itself."""
        command = [*self._account.prefix, str(self._programs / "postgres"), "-D", str(self._directory / name)]
        known = {} if self._password_file is None else {"PGPASSFILE": str(self._password_file)}
        return self._server(name, command, _environment() | known, DatabaseProcess)


def _environment() -> dict[str, str]:
    """No PG* variable of the user's, and no secret."""
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "TZ": "UTC"}


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
