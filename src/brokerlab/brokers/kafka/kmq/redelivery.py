"""What a tracker does: follow the markers, and send again what is overdue."""

from __future__ import annotations

import time
from typing import Any

from brokerlab.brokers.kafka.client import consumer_properties, marker_properties
from brokerlab.brokers.kafka.driver import connect
from brokerlab.brokers.kafka.kmq.markers import (
    COUNT_HEADER,
    END,
    OpenMessages,
    copy_headers,
    header,
    marker_key,
    markers_topic,
    tracker_group,
)
from brokerlab.brokers.kafka.outcomes import consumer_must_stop
from brokerlab.errors import BrokerError
from brokerlab.model.plan import AgentPlan

_STEP_S = 0.1
_READ_MOST = 10_000
_SEND_AGAIN_MOST = 1000  # of one partition in one step, so that markers are read in between
_FETCH_S = 30.0
_COMMIT_EVERY_S = 1.0


class Redelivery:
    """All partitions of one group's markers. Nothing is lost if this ends anywhere: what it did not finish, the next
    one does, at worst a second time."""

    def __init__(self, plan: AgentPlan) -> None:
        from confluent_kafka import Consumer, Producer, TopicPartition

        assert plan.group is not None
        self._group = plan.group
        own = {"enable.auto.commit": "false", "client.id": f"{plan.agent}-redelivery"}
        group = tracker_group(plan.group)
        self._markers = connect(Consumer, {**consumer_properties(plan), **own, "group.id": group})
        self._messages = connect(Consumer, {**consumer_properties(plan), **own, "group.id": f"{group}-reader"})
        self._producer = connect(Producer, marker_properties(plan))
        self._destination_of = {markers_topic(d, plan.group): d for d in plan.destinations}
        every = [(t, p) for t in self._destination_of for p in range(plan.partitions)]
        self._open: dict[tuple[str, int], OpenMessages] = {one: OpenMessages() for one in every}
        self._markers.assign([TopicPartition(*one) for one in every])
        self._next_commit = 0.0

    def step(self) -> None:
        """Read what markers there are, wait a moment if there are none, send again what is overdue by now."""
        first = self._markers.poll(_STEP_S)
        if first is not None:
            for marker in (first, *self._markers.consume(_READ_MOST, 0)):
                self._take(marker)
        now_ms = time.time_ns() // 1_000_000
        for (topic, partition), known in self._open.items():
            if known and self._has_read_all(topic, partition, known):
                known.clock_ms = max(known.clock_ms, now_ms)
            overdue = known.overdue()[:_SEND_AGAIN_MOST] if known else []
            if overdue:
                self._send_again(topic, partition, overdue)
        self._producer.poll(0)
        if time.monotonic() >= self._next_commit:
            self._next_commit = time.monotonic() + _COMMIT_EVERY_S
            self._commit(asynchronous=True)

    def _take(self, marker: Any) -> None:
        error = marker.error()
        if error is not None:
            if error.fatal() or consumer_must_stop(error.code()):
                raise BrokerError(f"the markers cannot be read: {error.str()}")
            return
        at = marker.topic(), marker.partition()
        self._open[at].read(marker.key(), marker.value(), marker.timestamp()[1], marker.offset())

    def _has_read_all(self, topic: str, partition: int, known: OpenMessages) -> bool:
        from confluent_kafka import TopicPartition

        _, end = self._markers.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
        return bool(known.next_marker >= end)

    def _send_again(self, topic: str, partition: int, overdue: list[int]) -> None:
        """Copies first, and only when they are stored the end markers of what they replace."""
        destination = self._destination_of[topic]
        found = self._fetch(destination, partition, overdue)
        if found is None:
            return  # the partition has no leader now: they stay open, and overdue
        failed: list[str] = []
        for message in found:
            self._producer.produce(
                destination,
                message.value(),
                message.key(),
                partition=partition,
                headers=copy_headers(_count(message) + 1, self._group, message.offset()),
                on_delivery=lambda error, _: failed.append(error.str()) if error else None,
            )
        if self._producer.flush(_FETCH_S) or failed:
            return
        for offset in overdue:
            self._producer.produce(topic, END, marker_key(partition, offset), partition=partition)
            self._open[topic, partition].closed(offset)

    def _fetch(self, destination: str, partition: int, offsets: list[int]) -> list[Any] | None:
        """The messages themselves, or None when they cannot be read now. Those that retention has deleted are not among
        them: they cannot be delivered again."""
        from confluent_kafka import TopicPartition

        wanted, found = set(offsets), {}
        until = time.monotonic() + _FETCH_S
        at = offsets[0]
        self._messages.assign([TopicPartition(destination, partition, at)])
        while at <= offsets[-1]:
            for message in self._messages.consume(min(offsets[-1] - at + 1, _READ_MOST), _STEP_S):
                if message.error() is None:
                    at = message.offset() + 1
                    if message.offset() in wanted:
                        found[message.offset()] = message
            if time.monotonic() > until:
                return None
        self._messages.unassign()
        return [found[offset] for offset in offsets if offset in found]

    def _commit(self, *, asynchronous: bool) -> None:
        from confluent_kafka import TopicPartition

        at = [TopicPartition(t, p, known.resume_at()) for (t, p), known in self._open.items() if known.next_marker]
        if at:
            self._markers.commit(offsets=at, asynchronous=asynchronous)

    def close(self) -> None:
        from confluent_kafka import KafkaException

        self._producer.flush(_STEP_S)
        try:
            self._commit(asynchronous=False)
        except KafkaException:
            pass  # the next tracker reads from an earlier place
        finally:
            self._messages.close()
            self._markers.close()


def _count(message: Any) -> int:
    return int.from_bytes(header(message, COUNT_HEADER) or b"")
