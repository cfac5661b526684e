"""Pulsar's own figures: brokers and bookies over HTTP, each with its JVM's; ZooKeeper by its `mntr` command."""

from __future__ import annotations

import math
import re
import socket
import ssl
import time

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import read_text
from brokerlab.brokers.kit.probing import Figure, figures_in, readings_of
from brokerlab.brokers.kit.wire import tls_context
from brokerlab.model.plan import Endpoint

SYNC_COUNT = "bookie_journal_JOURNAL_SYNC_count"
_TIMEOUT_S = 2.0
# Writing its pages takes an idle standalone Pulsar 50 to 100 ms of CPU: every second that was 5 % of a core.
PAGES_EVERY_S = 5.0
_EARLY_S = 0.5  # a probe that is asked every second is not asked exactly then
_JOURNAL_NUMBER = re.compile(r"_journalIndex_\d+")  # a label with BookKeeper's provider, in the name with Pulsar's


_JVM = (
    Figure("jvm_memory_bytes_used", "heap_used_bytes", "B", 'area="heap"'),
    Figure("jvm_memory_bytes_committed", "heap_committed_bytes", "B", 'area="heap"'),
    Figure("jvm_memory_direct_bytes_used", "direct_used_bytes", "B"),
    Figure("jvm_threads_current", "threads", "1"),
    Figure("jvm_gc_collection_seconds_count", "gc_count_total", "1"),
    Figure("jvm_gc_collection_seconds_sum", "gc_time_seconds_total", "s"),
    Figure("process_cpu_seconds_total", "cpu_seconds_total", "s"),
)
_BROKER = (
    Figure("pulsar_in_messages_total", "messages_in_total", "1"),
    Figure("pulsar_out_messages_total", "messages_out_total", "1"),
    Figure("pulsar_in_bytes_total", "bytes_in_total", "B"),
    Figure("pulsar_out_bytes_total", "bytes_out_total", "B"),
    Figure("pulsar_broker_rate_in", "messages_in_rate", "1/s"),
    Figure("pulsar_broker_rate_out", "messages_out_rate", "1/s"),
    Figure("pulsar_broker_throughput_in", "bytes_in_rate", "B/s"),
    Figure("pulsar_broker_throughput_out", "bytes_out_rate", "B/s"),
    Figure("pulsar_broker_msg_backlog", "backlog_entries", "1"),
    Figure("pulsar_broker_topics_count", "topics", "1"),
    Figure("pulsar_broker_producers_count", "producers", "1"),
    Figure("pulsar_broker_consumers_count", "consumers", "1"),
    Figure("pulsar_broker_storage_size", "storage_bytes", "B"),
)
_BOOKIE = (
    Figure(SYNC_COUNT, "journal_syncs_total", "1", 'success="true"'),
    Figure("bookie_journal_JOURNAL_ADD_ENTRY_count", "journal_adds_total", "1", 'success="true"'),
    Figure("bookkeeper_server_ADD_ENTRY_count", "adds_total", "1", 'success="true"'),
    Figure("bookkeeper_server_ADD_ENTRY", "add_p99_ms", "ms", 'success="true",quantile="0.99"'),
    Figure("bookie_WRITE_BYTES", "written_bytes_total", "B"),
)
_ZOOKEEPER = {  # field of mntr -> (metric, unit)
    "zk_znode_count": ("znodes", "1"),
    "zk_num_alive_connections": ("connections", "1"),
    "zk_outstanding_requests": ("outstanding_requests", "1"),
    "zk_avg_latency": ("latency_mean_ms", "ms"),
    "zk_packets_received": ("packets_received_total", "1"),
    "zk_packets_sent": ("packets_sent_total", "1"),
}


def without_journal_number(name: str) -> str:
    return _JOURNAL_NUMBER.sub("", name)


def sync_count(bookie_url: str) -> int:
    """How often this bookie's journal was synced. Raises OSError."""
    return int(sum(figures_in(read_text(f"{bookie_url}/metrics", 10.0), _BOOKIE[:1], without_journal_number).values()))


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
        self._pages_at_s = -math.inf  # monotonic

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            if "zookeeper" in node.urls:
                readings += _zookeeper_readings(node)
        if time.monotonic() >= self._pages_at_s:
            self._pages_at_s = time.monotonic() + PAGES_EVERY_S - _EARLY_S
            readings += self._pages()
        return readings

    def _pages(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            if "broker" in node.urls:
                # The page without the slash is a redirection to the one with it.
                url = f"{node.urls['broker']}/metrics/"
                readings += _page_readings(node.name, url, (*_JVM, *_BROKER), self._context)
            if "bookie" in node.urls:
                # The JVM of a bookie inside a standalone broker is that broker's.
                figures = _BOOKIE if "broker" in node.urls else (*_JVM, *_BOOKIE)
                readings += _page_readings(node.name, f"{node.urls['bookie']}/metrics", figures, None)
        return readings


def _page_readings(name: str, url: str, figures: tuple[Figure, ...], context: ssl.SSLContext | None) -> list[Reading]:
    try:
        found = figures_in(read_text(url, _TIMEOUT_S, context), figures, without_journal_number)
    except OSError:
        return []
    return [
        Reading(f"{'jvm' if figure in _JVM else 'broker'}:{name}", figure.metric, value, figure.unit)
        for figure, value in found.items()
    ]


def _zookeeper_readings(node: NodeInfo) -> list[Reading]:
    host, _, port = node.urls["zookeeper"].rpartition(":")
    try:
        return readings_of(f"broker:{node.name}", monitor(host, int(port)), _ZOOKEEPER)
    except (OSError, ValueError):
        return []
