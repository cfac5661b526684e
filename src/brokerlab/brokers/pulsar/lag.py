"""What topics take in and how far subscriptions are behind, from the administrative statistics. A topic with partitions is one
destination.

Pulsar counts what a subscription has not acknowledged in entries: a batch of messages is one. Every topic is a question of its
own, so they are asked as seldom as the probe's pages, and of MOST_TOPICS only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import MISREAD
from brokerlab.brokers.kit.lag import destination_readings, entries_reading
from brokerlab.brokers.kit.probing import NowAndThen
from brokerlab.brokers.pulsar.probe import PAGES_EVERY_S
from brokerlab.brokers.pulsar.rest import Rest, RestError, topic_path
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

MOST_TOPICS = 100
LIST_EVERY_S = 30.0
_TIMEOUT_S = 2.0
_WANTED = "getPreciseBacklog=true&subscriptionBacklogSize=false"
_PARTITION = "-partition-"
_OWN_TENANT = "pulsar"  # heartbeats, transactions


class PulsarLag:
    """See brokers.contract.WatchedByEndpoint. Tenants, namespaces and topics that this user must not read are left out. Where
    the brokers do not answer, `missing` says so until they are asked again."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...], name: str) -> None:  # noqa: ARG002 - any broker knows where a topic is
        self._name = name
        self._rest = Rest(endpoint, _TIMEOUT_S)
        self._due, self._list_due = NowAndThen(PAGES_EVERY_S), NowAndThen(LIST_EVERY_S)
        self._topics: dict[tuple[str, str], int] = {}  # namespace and topic -> partitions; 0: it is not divided
        self._missing: dict[str, str] = {}

    def missing(self) -> dict[str, str]:
        """What the last reading lacks, and why."""
        return self._missing

    def read(self) -> list[Reading]:
        return list(self._read()) if self._due.now() else []

    def _read(self) -> Iterator[Reading]:
        self._missing = {}
        try:
            if self._list_due.now() or not self._topics:
                self._topics = self._list()
            for namespace, topic in list(self._topics)[:MOST_TOPICS]:
                with _skipping_refusals():
                    yield from self._of(namespace, topic)
        except BrokerError as error:
            self._missing["its destinations and groups"] = error.message
        if len(self._topics) > MOST_TOPICS:
            self._missing["the rest of its topics"] = f"only {MOST_TOPICS} topics are read"

    def _of(self, namespace: str, topic: str) -> list[Reading]:
        destination, base = f"{namespace}/{topic}", topic_path(namespace, topic)
        partitions: dict[int, dict[str, Any]] = {}
        if self._topics[namespace, topic]:
            told = self._rest.get(f"{base}/partitioned-stats?{_WANTED}&perPartition=true")["partitions"]
            partitions = {int(name.rpartition(_PARTITION)[2]): stats for name, stats in told.items()}
        else:
            partitions[0] = self._rest.get(f"{base}/stats?{_WANTED}")
        readings = []
        if len(partitions) >= self._topics[namespace, topic]:  # else the sum would fall, and rise again
            taken_in = sum(stats["msgInCounter"] for stats in partitions.values())
            readings += destination_readings(self._name, destination, taken_in=taken_in)
        for number, stats in partitions.items():
            for group, of_group in stats["subscriptions"].items():
                behind = of_group["msgBacklog"]
                readings.append(entries_reading(self._name, group, destination, behind, number))
        return readings

    def _list(self) -> dict[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = {}
        for tenant in self._rest.get("/admin/v2/tenants"):
            if tenant == _OWN_TENANT:
                continue
            with _skipping_refusals():
                for namespace in self._rest.get(f"/admin/v2/namespaces/{quote(tenant, safe='')}"):
                    with _skipping_refusals():
                        self._list_namespace(namespace, found)
        return found

    def _list_namespace(self, namespace: str, found: dict[tuple[str, str], int]) -> None:
        """Topics whose names begin with __ are Pulsar's own."""
        for path in self._rest.get(f"/admin/v2/persistent/{namespace}"):
            topic, divided, number = path.rpartition("/")[2].partition(_PARTITION)
            if not topic.startswith("__"):
                partitions = int(number) + 1 if divided else 0
                found[namespace, topic] = max(found.get((namespace, topic), 0), partitions)


@contextlib.contextmanager
def _skipping_refusals() -> Iterator[None]:
    """What is gone, must not be read, or is told in another form is left out."""
    with contextlib.suppress(RestError, *MISREAD):
        yield
