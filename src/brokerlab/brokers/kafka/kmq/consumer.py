"""A consumer that acknowledges single messages: start markers before messages are handed over, end markers after."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from brokerlab.brokers.kafka.client import marker_properties
from brokerlab.brokers.kafka.driver import PythonConsumer, connect
from brokerlab.brokers.kafka.kmq import markers
from brokerlab.brokers.kafka.kmq.admin import ensure_markers
from brokerlab.brokers.kafka.kmq.tracker import TrackerProcess
from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, no_deliveries
from brokerlab.model.plan import AgentPlan

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

Place = tuple[str, int, int]  # topic, partition, offset


class KmqConsumer(PythonConsumer):
    """KMQ's flow: read a batch, write a start marker for each message and wait until they are stored, commit the
    position, hand the batch over; an acknowledgement is an end marker for each message, without waiting for it.

    Partitions are shared by number, as in the plain driver. The group's first consumer has the redelivery tracker as a
    child process: it is needed as long as there is a consumer.
    """

    def __init__(self, plan: AgentPlan, number: int) -> None:
        from confluent_kafka import Producer

        assert plan.consumers is not None
        assert plan.group is not None
        self._group = plan.group
        self._start = markers.start_marker(redelivery_timeout_ms(plan))
        ensure_markers(plan)
        self._tracker = TrackerProcess(plan) if number % plan.consumers.per_group == 0 else None
        super().__init__(plan, number, {"enable.auto.commit": "false"})
        self._markers = connect(Producer, marker_properties(plan))
        self._starting: list[Message] = []  # read, but not all of their start markers are stored yet
        self._unstored = 0
        self._lost: KafkaError | None = None
        self._open: set[Place] = set()

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        if self._tracker is not None:
            self._tracker.check()
        while True:
            if not self._starting:
                self._read(most, deadline_mono_ns)
            if self._starting and self._are_started(deadline_mono_ns):
                return self._handed_over()
            if time.monotonic_ns() >= deadline_mono_ns:
                return no_deliveries(time.monotonic_ns())

    def _read(self, most: int, deadline_mono_ns: int) -> None:
        self._starting = [m for m in self._messages(most, deadline_mono_ns) if self._is_for_us(m)]
        self._write(map(_place, self._starting), self._start, self._started)
        self._unstored = len(self._starting)

    def _is_for_us(self, message: Message) -> bool:
        """Copies are made for one group; the others had the original."""
        to = markers.header(message, markers.GROUP_HEADER)
        return to is None or to == self._group.encode()

    def _write(self, places: Iterable[Place], value: bytes, then: Callable[..., None] | None = None) -> None:
        by_partition: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
        for topic, partition, offset in places:
            one = {"key": markers.marker_key(partition, offset), "value": value}
            by_partition[topic, partition].append(one if then is None else one | {"callback": then})
        for (topic, partition), some in by_partition.items():
            name = markers.markers_topic(topic, self._group)
            if self._markers.produce_batch(name, some, partition=partition) != len(some):
                raise BrokerError(f"the client has no room for {len(some)} markers in {name}")

    def _started(self, error: KafkaError | None, _message: Message) -> None:
        self._unstored -= 1
        if error is not None:
            self._lost = error

    def _are_started(self, deadline_mono_ns: int) -> bool:
        self._markers.poll(0)  # also where there is no time to wait: consumers of one agent take turns
        while self._unstored and time.monotonic_ns() < deadline_mono_ns:
            self._markers.poll(seconds_until(deadline_mono_ns))
        if self._lost is not None:
            raise BrokerError(f"start markers could not be written: {self._lost.str()}")
        return self._unstored == 0

    def _handed_over(self) -> Deliveries:
        messages, self._starting = self._starting, []
        self._commit(asynchronous=True)
        places = list(map(_place, messages))
        if self._automatic:
            self._write(places, markers.END)
        else:
            self._open.update(places)
            self._open.difference_update(filter(None, map(_origin, messages)))  # copies took their place
        n = len(messages)
        return Deliveries.from_payloads(
            [m.value() or b"" for m in messages],
            time.monotonic_ns(),
            np.fromiter((place[2] for place in places), np.int64, n),
            np.fromiter((markers.header(m, markers.COUNT_HEADER) is not None for m in messages), np.uint8, n),
            token=places,
        )

    def acknowledge(self, deliveries: Deliveries) -> None:
        """End markers for exactly these messages."""
        places = deliveries.token
        if self._automatic or not isinstance(places, list):
            return
        self._write(places, markers.END)
        self._open.difference_update(places)
        self._markers.poll(0)

    def remaining(self) -> int | None:
        """What was not read yet, and what was handed over and is not acknowledged. What a consumer that is gone left
        open counts again once the tracker has sent it again."""
        unread = super().remaining()
        return None if unread is None else unread + len(self._starting) + len(self._open)

    def close(self, deadline_mono_ns: int) -> None:
        """What was handed over and not acknowledged stays open for the tracker; so does what was only started."""
        from confluent_kafka import KafkaException

        if self._closed:
            return
        self._closed = True
        left = self._markers.flush(seconds_until(deadline_mono_ns))
        try:
            if left == 0 and self._lost is None:
                self._commit(asynchronous=False)
        except KafkaException:
            pass  # positions not committed are read again: at least once, as promised
        finally:
            if self._tracker is not None:
                self._tracker.stop(deadline_mono_ns)
            self._markers.purge()
            self._client.close()


def redelivery_timeout_ms(plan: AgentPlan) -> int:
    return int(plan.client_settings.get(markers.TIMEOUT_SETTING, markers.DEFAULT_TIMEOUT_MS))


def _place(message: Any) -> Place:
    return message.topic(), message.partition(), message.offset()


def _origin(message: Any) -> Place | None:
    """The message this one is a copy of; None for an original."""
    offset = markers.header(message, markers.ORIGIN_HEADER)
    return None if offset is None else (message.topic(), message.partition(), markers.origin(offset))
