"""Pulsar's own figures: brokers and bookies over HTTP, each with its JVM's; ZooKeeper by its `mntr` command."""

from __future__ import annotations

import re
import socket
import ssl

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import read_text
from brokerlab.brokers.kit.probing import NowAndThen, figures_in, readings_of
from brokerlab.brokers.kit.wire import tls_context
from brokerlab.brokers.pulsar.metrics import BOOKIE, BROKER, JVM, ZOOKEEPER
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import WatchedMetric, fields_of

_TIMEOUT_S = 2.0
# Writing its pages takes an idle standalone Pulsar 50 to 100 ms of CPU: every second that was 5 % of a core.
PAGES_EVERY_S = 5.0
_JOURNAL_NUMBER = re.compile(r"_journalIndex_\d+")  # a label with BookKeeper's provider, in the name with Pulsar's


def without_journal_number(name: str) -> str:
    return _JOURNAL_NUMBER.sub("", name)


def sync_count(bookie_url: str) -> int:
    """How often this bookie's journal was synced. Raises OSError."""
    return int(sum(figures_in(read_text(f"{bookie_url}/metrics", 10.0), BOOKIE[:1], without_journal_number).values()))


def monitor(host: str, port: int) -> dict[str, str]:
    """ZooKeeper's answer to `mntr`. Raises OSError."""
    with socket.create_connection((host, port), timeout=_TIMEOUT_S) as connection:
        connection.sendall(b"mntr")
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return dict(line.split("\t", 1) for line in answer.decode(errors="replace").splitlines() if "\t" in line)


class PulsarProbe:
    """See brokers.contract.BrokerProbe. Brokers and bookies are asked every PAGES_EVERY_S only."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:
        self._nodes = nodes
        secured = endpoint.security is not None and endpoint.security.tls
        self._context = tls_context(endpoint.security) if secured else None
        self._pages_due = NowAndThen(PAGES_EVERY_S)

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            if "zookeeper" in node.urls:
                readings += _zookeeper_readings(node)
        if self._pages_due.now():
            readings += self._pages()
        return readings

    def _pages(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            if "broker" in node.urls:
                # The page without the slash is a redirection to the one with it.
                url = f"{node.urls['broker']}/metrics/"
                readings += _page_readings(node.name, url, (*JVM, *BROKER), self._context)
            if "bookie" in node.urls:
                # The JVM of a bookie inside a standalone broker is that broker's.
                figures = BOOKIE if "broker" in node.urls else (*JVM, *BOOKIE)
                readings += _page_readings(node.name, f"{node.urls['bookie']}/metrics", figures, None)
        return readings


def _page_readings(
    name: str, url: str, rows: tuple[WatchedMetric, ...], context: ssl.SSLContext | None
) -> list[Reading]:
    try:
        found = figures_in(read_text(url, _TIMEOUT_S, context), rows, without_journal_number)
    except OSError:
        return []
    return [Reading.of(row, f"{row.scope}:{name}", value) for row, value in found.items()]


def _zookeeper_readings(node: NodeInfo) -> list[Reading]:
    host, _, port = node.urls["zookeeper"].rpartition(":")
    try:
        return readings_of(f"broker:{node.name}", monitor(host, int(port)), fields_of(ZOOKEEPER, "mntr"))
    except (OSError, ValueError):
        return []
