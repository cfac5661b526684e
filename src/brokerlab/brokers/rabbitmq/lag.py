"""What queues take in and what waits in them, from the detailed Prometheus page of each node. A queue is its one group.

The nodes bring these figures up to date every 5 s by default, so they are not asked for more often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import read_text
from brokerlab.brokers.kit.lag import MOST_DESTINATIONS, beyond_most, destination_readings, queue_readings
from brokerlab.brokers.kit.probing import NowAndThen, samples_in
from brokerlab.model.plan import Endpoint

PAGES_EVERY_S = 5.0
_COUNTS = "family=queue_coarse_metrics&family=queue_exchange_metrics"
_KINDS = "family=queue_metrics"
_READY, _UNACKED = "rabbitmq_detailed_queue_messages_ready", "rabbitmq_detailed_queue_messages_unacked"
_PUBLISHED = "rabbitmq_detailed_queue_exchange_messages_published_total"
_SEGMENTS = "rabbitmq_detailed_stream_segments"
_TIMEOUT_S = 2.0


class RabbitLag:
    """See brokers.contract.WatchedByEndpoint. A stream has groups that no page tells: only its length is read. A node that does
    not answer costs its queues, and while it is silent what others take in: each counts what came through it."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...], name: str) -> None:  # noqa: ARG002 - figures need no login
        self._name = name
        self._pages = {node.name: f"{node.urls['prometheus']}/detailed" for node in nodes if "prometheus" in node.urls}
        self._due = NowAndThen(PAGES_EVERY_S)
        self._queues: set[str] = set()  # of which it is known whether they are streams
        self._streams: set[str] = set()
        self._missing: dict[str, str] = {}

    def missing(self) -> dict[str, str]:
        """What the last reading lacks, and why."""
        return self._missing

    def read(self) -> list[Reading]:
        return list(self._read()) if self._due.now() else []

    def _read(self) -> Iterator[Reading]:
        waiting: dict[str, float] = {}
        taken_in: dict[str, float] = defaultdict(float)
        self._missing = {}  # and it stays so until they are asked again
        pages = self._ask(_COUNTS)
        for page in pages:
            of_node: dict[str, float] = defaultdict(float)
            for sample, labels, value in samples_in(page, (_READY, _UNACKED, _PUBLISHED)):
                (taken_in if sample == _PUBLISHED else of_node)[_queue(labels)] += value
            for queue, count in of_node.items():  # a node that led a queue before may still tell of it
                waiting[queue] = max(waiting.get(queue, 0), count)
        if waiting.keys() - self._queues:
            self._tell_streams()
            self._queues = set(waiting)
        counted = not self._missing and all(_PUBLISHED in page for page in pages)
        for queue in sorted(waiting)[:MOST_DESTINATIONS]:
            if queue in self._streams:
                yield from destination_readings(self._name, queue, held=waiting[queue])
            else:
                yield from queue_readings(
                    self._name, queue, waiting[queue], taken_in.get(queue, 0) if counted else None
                )
        if len(waiting) > MOST_DESTINATIONS:
            self._missing |= beyond_most("queues")

    def _tell_streams(self) -> None:
        pages = self._ask(_KINDS)
        self._streams = {_queue(labels) for page in pages for _, labels, _ in samples_in(page, (_SEGMENTS,))}

    def _ask(self, families: str) -> list[str]:
        """The page of each node that answers."""
        found = []
        for node, page in self._pages.items():
            try:
                found.append(read_text(f"{page}?{families}", _TIMEOUT_S))
            except OSError as error:
                self._missing[f"queues at {node}"] = str(error)
        return found


def _queue(labels: dict[str, str]) -> str:
    """Its name, with that of the virtual host where that is not the one every broker has."""
    return labels["queue"] if labels["vhost"] == "/" else f"{labels['vhost']}/{labels['queue']}"
