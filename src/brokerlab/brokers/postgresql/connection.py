"""How to connect: conninfo strings, and short blocking work on a connection of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from brokerlab.brokers.kit.database import USER
from brokerlab.brokers.kit.refusals import Refusals
from brokerlab.brokers.postgresql.tables import group_statements
from brokerlab.model.plan import Endpoint
from brokerlab.secrets import secret

CONNECT_S = 10
DATABASE = "postgres"
PATH = f"python (psycopg {psycopg.__version__}, libpq {psycopg.pq.version()})"

Connection = psycopg.Connection[tuple[Any, ...]]
_SECURITY = "check user, password and tls of the endpoint's security"
REFUSALS = Refusals(
    "PostgreSQL",
    (psycopg.Error,),
    "see the server's log",
    {**dict.fromkeys(("password", "no pg_hba.conf entry", "SSL"), _SECURITY), "refused": "is the server running?"},
)


def conninfo(endpoint: Endpoint, name: str, *, writing: bool = True, settings: str = "") -> str:
    """For libpq, with the password in it: never shown, logged or given to another process.

    With several addresses the one that takes writes is found, whichever it is, unless `writing` is False.
    """
    hosts, ports = zip(*(address.rsplit(":", 1) for address in endpoint.addresses), strict=True)
    security = endpoint.security
    values: dict[str, str | int] = {
        "host": ",".join(hosts),
        "port": ",".join(ports),
        "dbname": endpoint.options.get("database", DATABASE),
        "user": (security.user if security else None) or endpoint.options.get("user", USER),
        "application_name": name,
        "connect_timeout": CONNECT_S,
        "target_session_attrs": "read-write" if writing else "any",
        "gssencmode": "disable",
        "sslmode": "disable",
        "tcp_user_timeout": 30_000,
    }
    if settings:
        values["options"] = settings
    if security is not None and security.tls:
        values["sslmode"] = "verify-full"
        values["sslrootcert"] = security.ca_file or "system"
    if security is not None and security.password is not None:
        values["password"] = secret(security.password)
    return make_conninfo("", **values)


@contextmanager
def connected(text: str, where: str) -> Iterator[Connection]:
    """A blocking connection in autocommit, with REFUSALS."""
    with REFUSALS.at(where), psycopg.connect(text, autocommit=True) as connection:
        yield connection


def ensure_group(connection: Connection, destination: str, group: str) -> int:
    """The group's number in this destination; made if it does not exist."""
    *make, ask = group_statements(destination)
    with connection.transaction():
        # Two consumers that make the same group at once: the second waits here and finds it.
        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (destination,))
        for statement in make:
            connection.execute(statement, (group, group))
        row = connection.execute(ask, (group,)).fetchone()
    assert row is not None
    return int(row[0])
