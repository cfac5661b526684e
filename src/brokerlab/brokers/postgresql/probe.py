"""PostgreSQL's own figures, from its statistics views."""

from __future__ import annotations

import psycopg

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.postgresql.connection import Connection

_DATABASE = """SELECT numbackends, xact_commit, xact_rollback, blks_read, blks_hit, tup_inserted, tup_updated,
    tup_deleted, deadlocks, pg_database_size(datname) FROM pg_stat_database WHERE datname = current_database()"""
_DATABASE_METRICS = (
    ("connections", "1"), ("commits_total", "1"), ("rollbacks_total", "1"), ("blocks_read_total", "1"),
    ("blocks_hit_total", "1"), ("rows_inserted_total", "1"), ("rows_updated_total", "1"), ("rows_deleted_total", "1"),
    ("deadlocks_total", "1"), ("database_bytes", "B"),
)  # fmt: skip
_WAL = "SELECT wal_records, wal_fpi, wal_bytes, wal_buffers_full FROM pg_stat_wal"
_WAL_METRICS = (
    ("wal_records_total", "1"), ("wal_full_pages_total", "1"), ("wal_bytes_total", "B"), ("wal_buffers_full_total", "1"),
)  # fmt: skip
_REPLICATION = """SELECT application_name, pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn),
    extract(epoch FROM flush_lag) FROM pg_stat_replication WHERE flush_lsn IS NOT NULL"""


class PostgresqlProbe:
    """See brokers.contract.BrokerProbe. One connection per node, made anew when it is lost."""

    def __init__(self, nodes: tuple[NodeInfo, ...]) -> None:
        self._nodes = nodes
        self._connections: dict[str, Connection] = {}

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            try:
                readings += _read(f"broker:{node.name}", self._connection(node))
            except psycopg.Error:
                lost = self._connections.pop(node.name, None)
                if lost is not None:
                    lost.close()
        return readings

    def _connection(self, node: NodeInfo) -> Connection:
        if node.name not in self._connections:
            # A standby's commit never waits, and figures must not wait for a stopped server either.
            options = "-c statement_timeout=1s"
            self._connections[node.name] = psycopg.connect(
                node.urls["conninfo"], autocommit=True, connect_timeout=2, tcp_user_timeout=2000, options=options,
                application_name="brokerlab-probe",
            )  # fmt: skip
        return self._connections[node.name]


def _read(subject: str, connection: Connection) -> list[Reading]:
    readings = []
    for question, metrics in ((_DATABASE, _DATABASE_METRICS), (_WAL, _WAL_METRICS)):
        row = connection.execute(question.encode()).fetchone()
        if row is not None:
            readings += [
                Reading(subject, metric, float(value), unit)
                for (metric, unit), value in zip(metrics, row, strict=True)
                if value is not None
            ]
    standby = connection.execute("SELECT pg_is_in_recovery()").fetchone()
    if standby is not None and not standby[0]:
        for name, behind, lag in connection.execute(_REPLICATION).fetchall():
            readings.append(Reading(subject, f"standby_{name}_behind_bytes", float(behind), "B"))
            if lag is not None:
                readings.append(Reading(subject, f"standby_{name}_flush_lag_s", float(lag), "s"))
    return readings
