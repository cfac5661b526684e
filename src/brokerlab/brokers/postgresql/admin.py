"""Schemas and groups, and the durability that follows from what the servers report."""

from __future__ import annotations

from typing import Any

import psycopg

from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.kit.database_settings import commit_level
from brokerlab.brokers.postgresql.connection import REFUSALS, connected, conninfo, ensure_group
from brokerlab.brokers.postgresql.tables import create_statements, drop_statement, schema_name
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Durability, Endpoint

_SETTINGS = (
    "server_version", "synchronous_commit", "synchronous_standby_names", "fsync", "full_page_writes",
    "wal_sync_method", "shared_buffers", "max_wal_size", "wal_buffers", "commit_delay", "ssl", "max_connections",
    "autovacuum", "wal_level",
)  # fmt: skip
_PROMISES = {
    Durability.L1: "the commit is fsynced on the primary and on as many standbys as synchronous_standby_names asks for",
    Durability.L2: "the commit is fsynced on the primary if fsync is on; standbys have it in memory, not on disk",
    Durability.L3: "the commit is fsynced on the primary and waits for no standby",
    Durability.L4: "the commit is not fsynced before it is acknowledged",
}


class PostgresqlAdmin:
    """See brokers.contract.Admin."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:  # noqa: ARG002 - durability is the servers'
        self._endpoint = endpoint
        self._where = ", ".join(endpoint.addresses)
        with REFUSALS.at(self._where):
            self._connection = psycopg.connect(conninfo(endpoint, "brokerlab-admin"), autocommit=True)

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:  # noqa: ARG002 - a column
        with REFUSALS.at(self._where):
            for destination in destinations:
                with self._connection.transaction():
                    for statement in create_statements(destination):
                        self._connection.execute(statement.encode())
                for group in groups:
                    ensure_group(self._connection, destination, group)

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002 - end with their schema
        with REFUSALS.at(self._where):
            for destination in destinations:
                self._connection.execute(drop_statement(destination).encode())

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        found = {}
        for address in self._endpoint.addresses:
            one = self._endpoint.model_copy(update={"addresses": (address,)})
            try:
                with connected(conninfo(one, "brokerlab-admin", writing=False), address) as connection:
                    found[f"server:{address}"] = _server(connection)
            except BrokerError as e:
                found[f"server:{address}"] = {"answer": e.message}
        for destination in destinations:
            settings = self._destination(destination)
            if settings:
                found[destination] = settings
        return found

    def _destination(self, destination: str) -> dict[str, str]:
        """What the catalog says about the table: an unlogged one would not survive a crash."""
        row = self._row(
            """SELECT relpersistence, array_to_string(reloptions, ','), n.nspname
               FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
               WHERE nspname = %s AND relname = 'messages'""",
            (schema_name(destination),),
        )
        if row is None:
            return {}
        kept = {"p": "permanent", "u": "unlogged", "t": "temporary"}.get(str(row[0]), str(row[0]))
        return {"schema": str(row[2]), "persistence": kept, "options": str(row[1] or "")}

    def _row(self, question: str, values: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        with REFUSALS.at(self._where):
            return self._connection.execute(question.encode(), values).fetchone()

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        """What a commit waits for, as the primary says, with the weakest destination and the weakest fsync."""
        settings = self.effective_settings(destinations)
        servers = [values for subject, values in settings.items() if subject.startswith("server:")]
        primary = next((s for s in servers if s.get("role") == "primary"), {})
        commit, names = primary.get("synchronous_commit", "off"), primary.get("synchronous_standby_names", "")
        synchronous = int(primary.get("synchronous_standbys_connected", "0"))
        fsync = [s["fsync"] for s in servers if "fsync" in s]
        logged = all(settings.get(d, {}).get("persistence") == "permanent" for d in destinations)
        level = commit_level(commit, bool(names), bool(fsync) and all(f == "on" for f in fsync))
        if not logged:
            level = Durability.L4
        return ComputedDurability(
            level,
            {
                "synchronous_commit": commit,
                "synchronous_standby_names": names or "none: commits wait for no standby",
                "synchronous standbys connected": str(synchronous),
                "fsync": ", ".join(fsync),
                "tables": "permanent" if logged else "not all permanent, so not durable",
                "promise": _PROMISES[level],
            },
        )

    def close(self) -> None:
        self._connection.close()


def _server(connection: psycopg.Connection[tuple[Any, ...]]) -> dict[str, str]:
    rows = connection.execute(
        "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s)", (list(_SETTINGS),)
    )
    found = {str(name): str(value) for name, value in rows.fetchall()}
    standby = connection.execute("SELECT pg_is_in_recovery()").fetchone()
    found["role"] = "standby" if standby is not None and standby[0] else "primary"
    if found["role"] == "primary":
        states = connection.execute("SELECT application_name, state, sync_state FROM pg_stat_replication ORDER BY 1")
        standbys = states.fetchall()
        found["standbys"] = ", ".join(f"{name} {state} {sync}" for name, state, sync in standbys)
        waited_for = sum(sync in ("sync", "quorum") and state == "streaming" for _, state, sync in standbys)
        found["synchronous_standbys_connected"] = str(waited_for)
    return found
