"""The Python path: confluent-kafka, in batches. The same properties, partitions and outcomes as the native path."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from brokerlab.brokers.kafka.backlog import NOTHING_RECEIVED, Backlog, assigned_partitions
from brokerlab.brokers.kafka.client import (
    NEVER_NS,
    commit_every_ns,
    consumer_properties,
    producer_properties,
    window,
)
from brokerlab.brokers.kafka.outcomes import consumer_must_stop, outcome_of
from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.brokers.kit.settling import Settling
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, Block, Deliveries, Settlements
from brokerlab.model.plan import AgentPlan

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message


def path() -> str:
    import confluent_kafka

    return f"python (confluent-kafka {confluent_kafka.version()})"


def connect(kind: type, properties: dict[str, str]) -> Any:
    """A client of `kind`; BrokerError with the library's words when it refuses the properties."""
    from confluent_kafka import KafkaException

    try:
        return kind(properties)
    except KafkaException as e:
        raise BrokerError(f"librdkafka refused its settings: {e.args[0]}", hint="see client_settings") from e


class PythonProducer:
    """Sends to the partition the plan says. With acks=0 an acknowledgement only means: handed to the network."""

    def __init__(self, plan: AgentPlan, number: int) -> None:  # noqa: ARG002 - all producers are configured alike
        from confluent_kafka import Producer

        self.path = path()
        self._topics = plan.destinations
        self._partitions = plan.partitions
        self._window = window(plan)
        self._in_flight = 0
        self._settling = Settling()
        self._client = connect(Producer, producer_properties(plan))

    def send(self, block: Block) -> int:
        """Takes no more than the window has room for, so librdkafka's own queue is never full in mid-block."""
        taken = min(len(block), self._window - self._in_flight)
        if taken <= 0:
            return 0
        payloads = block.payloads()
        keys = [None] * taken if block.keys is None else block.keys[:taken].astype(">i4").view("V4").tolist()
        # One call per partition: produce_batch ignores a partition given in the single message (seen with 2.16).
        by_partition: dict[int, list[dict[str, Any]]] = {}
        for i, partition in enumerate(block.partitions[:taken].tolist()):
            report = partial(self._report, block.first_index + i)
            message = {"value": payloads[i], "key": keys[i], "callback": report}
            by_partition.setdefault(partition, []).append(message)
        self._in_flight += taken
        for partition, messages in by_partition.items():
            topic, within = divmod(partition, self._partitions)
            if self._client.produce_batch(self._topics[topic], messages, partition=within) != len(messages):
                self._refused(messages)
        return taken

    def _refused(self, messages: list[dict[str, Any]]) -> None:
        """What the client would not even queue (too large, no such partition) was surely not written."""
        for message in messages:
            error = message.get("_error")
            if error is not None:
                self._settling.add_one(message["callback"].args[0], REJECTED, error.name())

    def _report(self, index: int, error: KafkaError | None, message: Message) -> None:  # noqa: ARG002
        if error is None:
            self._settling.add_one(index, ACKNOWLEDGED)
        else:
            self._settling.add_one(index, outcome_of(error.code()), error.name())

    def settled(self) -> Settlements:
        self._client.poll(0)
        settlements = self._settling.take()
        self._in_flight -= len(settlements)
        return settlements

    def close(self, deadline_mono_ns: int) -> None:
        self._client.flush(seconds_until(deadline_mono_ns))
        self._client.purge()


class PythonConsumer:
    """Reads its share of the group's partitions: those whose number modulo the group's size is its own.

    Partitions are assigned, not balanced by the group coordinator, so a consumer is ready when it is made and none
    moves during a run; positions are committed to the group all the same.
    """

    epoch = 0

    def __init__(self, plan: AgentPlan, number: int, own_properties: Mapping[str, str] | None = None) -> None:
        from confluent_kafka import Consumer, TopicPartition

        assert plan.consumers is not None
        self.path = path()
        self._client = connect(Consumer, {**consumer_properties(plan), **(own_properties or {})})
        mine = assigned_partitions(plan, number)
        self._next = dict.fromkeys(mine, NOTHING_RECEIVED)
        self._backlog = Backlog(plan, mine)
        self._client.assign([TopicPartition(*one) for one in mine])
        self._automatic = plan.consumers.acknowledge == "automatic"
        self._commit_every_ns = commit_every_ns(plan)
        self._next_commit_ns = NEVER_NS if self._commit_every_ns == NEVER_NS else 0
        self._uncommitted = False
        self._closed = False

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        good = self._messages(most, deadline_mono_ns)
        arrived_mono_ns = time.monotonic_ns()
        positions = np.fromiter((m.offset() for m in good), np.int64, len(good))
        return Deliveries.from_payloads([m.value() or b"" for m in good], arrived_mono_ns, positions)

    def _messages(self, most: int, deadline_mono_ns: int) -> list[Message]:
        """At most so many; none at the deadline."""
        # `consume` waits until it has *all* it was asked for, so wait for one, then take what is there already.
        first = self._client.poll(seconds_until(deadline_mono_ns))
        if first is None:
            return []
        read = [first] if most == 1 else [first, *self._client.consume(most - 1, 0)]
        good = [m for m in read if self._is_message(m)]
        for message in good:
            self._next[message.topic(), message.partition()] = message.offset() + 1
        return good

    def _is_message(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            return True
        if error.fatal() or consumer_must_stop(error.code()):
            raise BrokerError(f"the consumer cannot go on: {error.str()}")
        return False

    def acknowledge(self, deliveries: Deliveries) -> None:
        """Kafka acknowledges a position, so a commit covers everything received before; it is not waited for."""
        if self._automatic:
            return
        self._uncommitted = True
        if deliveries.arrived_mono_ns >= self._next_commit_ns:
            self._next_commit_ns = deliveries.arrived_mono_ns + self._commit_every_ns
            self._commit()

    def _commit(self, *, asynchronous: bool = True) -> None:
        from confluent_kafka import TopicPartition

        self._uncommitted = False
        at = [TopicPartition(topic, p, offset) for (topic, p), offset in self._next.items() if offset > 0]
        if at:
            self._client.commit(offsets=at, asynchronous=asynchronous)

    def remaining(self) -> int | None:
        return self._backlog.remaining(list(self._next.values()))

    def close(self, deadline_mono_ns: int) -> None:  # noqa: ARG002 - leaving is bounded by the client itself
        from confluent_kafka import KafkaException

        if self._closed:
            return
        self._closed = True
        try:
            if self._uncommitted:
                self._commit()
        except KafkaException:
            pass  # the positions only serve a later reader of this group; the evidence has its own
        finally:
            self._client.close()
