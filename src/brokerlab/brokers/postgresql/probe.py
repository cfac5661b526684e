"""PostgreSQL's own figures, from its statistics views."""

from __future__ import annotations

import struct
import time

from psycopg import pq

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.postgresql.connection import conninfo
from brokerlab.brokers.postgresql.link import Link, Work
from brokerlab.brokers.postgresql.metrics import QUESTIONS, STANDBY
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

ANSWER_NS = 1_000_000_000
_STANDBYS = """SELECT application_name, pg_wal_lsn_diff(sent_lsn, flush_lsn)::float8,
    extract(epoch FROM flush_lag)::float8 FROM pg_stat_replication WHERE flush_lsn IS NOT NULL"""


def _statements() -> dict[str, str]:
    asked = {
        f"q{i}": f"SELECT {', '.join(f'{column}::float8' for column in columns)} FROM {source}"
        for i, (source, columns) in enumerate(QUESTIONS.items())
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
    for columns, result in zip(QUESTIONS.values(), figures, strict=True):
        for i, row in enumerate(columns.values()):
            value = _number(result, 0, i) if result.ntuples else None
            if value is not None:
                readings.append(Reading.of(row, subject, value))
    for number in range(standbys.ntuples):
        name = (standbys.get_value(number, 0) or b"").decode()
        for column, row in enumerate(STANDBY, 1):
            value = _number(standbys, number, column)
            if value is not None:
                readings.append(Reading(subject, f"standby_{name}_{row.metric}", value, row.unit))
    return readings


def _number(result: pq.abc.PGresult, row: int, column: int) -> float | None:
    value = result.get_value(row, column)
    return None if value is None else float(struct.unpack(">d", value)[0])
