"""PostgreSQL's own figures, from its statistics views."""

from __future__ import annotations

import struct
import time

from psycopg import pq

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.postgresql.connection import conninfo
from brokerlab.brokers.postgresql.link import Link, Work
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

ANSWER_NS = 1_000_000_000
_METRICS = {  # question -> its columns: value, metric, unit
    "pg_stat_database WHERE datname = current_database()": (
        ("numbackends", "connections", "1"),
        ("xact_commit", "commits_total", "1"),
        ("xact_rollback", "rollbacks_total", "1"),
        ("blks_read", "blocks_read_total", "1"),
        ("blks_hit", "blocks_hit_total", "1"),
        ("tup_inserted", "rows_inserted_total", "1"),
        ("tup_updated", "rows_updated_total", "1"),
        ("tup_deleted", "rows_deleted_total", "1"),
        ("deadlocks", "deadlocks_total", "1"),
        ("pg_database_size(datname)", "database_bytes", "B"),
    ),
    "pg_stat_wal": (
        ("wal_records", "wal_records_total", "1"),
        ("wal_fpi", "wal_full_pages_total", "1"),
        ("wal_bytes", "wal_bytes_total", "B"),
        ("wal_buffers_full", "wal_buffers_full_total", "1"),
    ),
}
_STANDBYS = """SELECT application_name, pg_wal_lsn_diff(sent_lsn, flush_lsn)::float8,
    extract(epoch FROM flush_lag)::float8 FROM pg_stat_replication WHERE flush_lsn IS NOT NULL"""


def _statements() -> dict[str, str]:
    asked = {
        f"q{i}": f"SELECT {', '.join(f'{value}::float8' for value, _, _ in columns)} FROM {source}"
        for i, (source, columns) in enumerate(_METRICS.items())
    }
    return asked | {"standbys": _STANDBYS}


class PostgresqlProbe:
    """See brokers.contract.BrokerProbe. One connection per node, kept."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:
        self._endpoint = endpoint
        self._nodes = nodes
        self._links: dict[str, Link] = {}

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            work = self._ask(node)
            if work is not None:
                readings += _readings(f"broker:{node.name}", work)
        return readings

    def _link(self, node: NodeInfo) -> Link:
        one = self._endpoint.model_copy(update={"addresses": (node.urls["address"],)})
        return Link(conninfo(one, "brokerlab-probe", writing=False), node.name, _statements(), connect_s=1.0)

    def _ask(self, node: NodeInfo) -> Work | None:
        """The answers of one node; None when it does not give them in time."""
        try:
            link = self._links.get(node.name) or self._link(node)
        except BrokerError:
            return None
        self._links[node.name] = link
        link.step()
        if not link.ready or not link.idle():  # lost, or an earlier question is still open
            return None
        asked = link.submit("figures", [(name, []) for name in _statements()])
        until = time.monotonic_ns() + ANSWER_NS
        while not link.idle() and time.monotonic_ns() < until:
            link.wait(until)
            if asked in link.step():
                return None if asked.lost or asked.failed else asked
        return None


def _readings(subject: str, work: Work) -> list[Reading]:
    readings = []
    *figures, standbys = work.results
    for columns, result in zip(_METRICS.values(), figures, strict=True):
        for i, (_, metric, unit) in enumerate(columns):
            value = _number(result, 0, i) if result.ntuples else None
            if value is not None:
                readings.append(Reading(subject, metric, value, unit))
    for row in range(standbys.ntuples):
        name = (standbys.get_value(row, 0) or b"").decode()
        for column, metric, unit in ((1, "behind_bytes", "B"), (2, "flush_lag_s", "s")):
            value = _number(standbys, row, column)
            if value is not None:
                readings.append(Reading(subject, f"standby_{name}_{metric}", value, unit))
    return readings


def _number(result: pq.abc.PGresult, row: int, column: int) -> float | None:
    value = result.get_value(row, column)
    return None if value is None else float(struct.unpack(">d", value)[0])
