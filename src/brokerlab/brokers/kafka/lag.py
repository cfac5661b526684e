"""What topics take in and how far groups are behind, from offsets alone: no agent in the JVM is needed.

The end offset of a partition grows by one with every message; compaction and transactions make holes that count as messages
here. Topics and groups are listed every LIST_EVERY_S, offsets are read every time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Any

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kafka.access import Client
from brokerlab.brokers.kit.lag import LIST_EVERY_S, destination_readings, lag_reading
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

_TIMEOUT_S = 3.0
Partition = tuple[str, int]


class KafkaLag:
    """See brokers.contract.WatchedByEndpoint. A group that does not answer is left out of a reading; `missing` says which."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...], name: str) -> None:  # noqa: ARG002 - the protocol needs no other address
        self._name = name
        self._client = Client(endpoint, {})
        self._partitions: tuple[Partition, ...] = ()
        self._groups: tuple[str, ...] = ()
        self._list_at_s = 0.0
        self._missing: dict[str, str] = {}

    def missing(self) -> dict[str, str]:
        """What the last reading lacks, and why."""
        return self._missing

    def read(self) -> list[Reading]:
        if time.monotonic() >= self._list_at_s:
            self._partitions = tuple(_partitions(self._client.metadata(_TIMEOUT_S)))
            self._groups = tuple(self._list_groups())
            self._list_at_s = time.monotonic() + LIST_EVERY_S
        if not self._partitions:
            return []
        committed = self._committed()  # before the ends: no lag below zero
        asked = self._ask_offsets(earliest=True), self._ask_offsets(earliest=False)
        first, end = map(self._offsets, asked)
        return [*self._destinations(first, end), *self._lags(committed, end)]

    def _destinations(self, first: dict[Partition, int], end: dict[Partition, int]) -> Iterator[Reading]:
        for topic in dict.fromkeys(topic for topic, _ in self._partitions):
            ends = {p: offset for p, offset in end.items() if p[0] == topic}
            if ends:
                held = sum(offset - first.get(p, offset) for p, offset in ends.items())
                yield from destination_readings(self._name, topic, taken_in=sum(ends.values()), held=held)

    def _lags(self, committed: dict[str, dict[Partition, int]], end: dict[Partition, int]) -> Iterator[Reading]:
        for group, offsets in committed.items():
            for (topic, partition), offset in offsets.items():
                if (topic, partition) in end:
                    yield lag_reading(self._name, group, topic, end[topic, partition] - offset, partition)

    def _list_groups(self) -> Iterable[str]:
        found = _answer(self._client.admin.list_consumer_groups(request_timeout=_TIMEOUT_S))
        return sorted(group.group_id for group in found.valid)

    def _committed(self) -> dict[str, dict[Partition, int]]:
        """Of each group, the partitions it has a position in. All are asked at once: one that is slow delays no other."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        asked = {
            group: self._client.admin.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group)], request_timeout=_TIMEOUT_S
            )[group]
            for group in self._groups
        }
        found: dict[str, dict[Partition, int]] = {}
        self._missing = {}
        for group, future in asked.items():
            try:
                positions = _answer(future).topic_partitions
            except BrokerError as error:
                self._missing[f"group {group}"] = error.message
                continue
            found[group] = {(p.topic, p.partition): p.offset for p in positions if p.error is None and p.offset >= 0}
        return found

    def _ask_offsets(self, *, earliest: bool) -> dict[Any, Future[Any]]:
        from confluent_kafka import TopicPartition
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        spec: Any = OffsetSpec.earliest() if earliest else OffsetSpec.latest()  # type: ignore[no-untyped-call]
        wanted = {TopicPartition(topic, number): spec for topic, number in self._partitions}
        return dict(self._client.admin.list_offsets(wanted, request_timeout=_TIMEOUT_S))

    def _offsets(self, asked: dict[Any, Future[Any]]) -> dict[Partition, int]:
        found: dict[Partition, int] = {}
        for partition, future in asked.items():
            try:
                found[partition.topic, partition.partition] = int(_answer(future).offset)
            except BrokerError:  # deleted meanwhile, or without a leader
                self._list_at_s = 0.0
        if asked and not found:
            raise BrokerError(f"Kafka at {self._client.addresses} tells no offsets")
        return found


def _partitions(metadata: Any) -> Iterator[Partition]:
    """Without Kafka's own topics."""
    for name, topic in sorted(metadata.topics.items()):
        if not name.startswith("__"):
            yield from ((name, number) for number in sorted(topic.partitions))


def _answer(future: Future[Any]) -> Any:
    from confluent_kafka import KafkaException

    try:
        return future.result(_TIMEOUT_S + 1)
    except (KafkaException, TimeoutError) as error:
        raise BrokerError(f"Kafka does not answer: {error}") from error
