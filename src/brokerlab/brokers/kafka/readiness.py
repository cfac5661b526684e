"""Proof that a Kafka cluster works: an acks=all write that every node has to store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brokerlab.brokers.kafka.client import admin_properties
from brokerlab.model.plan import Endpoint

_TOPIC = "brokerlab-ready"
_STEP_S = 5.0
REPLICAS_MOST = 3  # what the replicated levels ask for


def prove_ready(endpoint: Endpoint, nodes: int, until: Callable[[str, Callable[[], bool]], None]) -> None:
    """Returns when a topic with a partition led by each node has taken writes that *all* replicas stored, and a group
    coordinator answers. An answering port, and even a full ISR in the metadata, prove neither.

    Node n leads partition n and follows in those of its neighbours, so every node takes part.

    `until` waits for a condition, which is described in words; whatever it raises is raised here.
    """
    from confluent_kafka.admin import AdminClient

    properties: dict[str, Any] = {**admin_properties(endpoint, {})}
    admin = AdminClient(properties)

    until(f"a topic replicated over {nodes} node(s)", lambda: _topic_exists(admin, nodes))
    until(f"a write stored by {nodes} node(s)", lambda: _write_is_stored(properties, nodes))
    until("a group coordinator", lambda: _coordinator_answers(properties))
    until("the probe topic to be deleted", lambda: _topic_is_gone(admin))


def _topic_exists(admin, nodes: int) -> bool:  # type: ignore[no-untyped-def]
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.cimpl import NewTopic

    replicas = min(nodes, REPLICAS_MOST)
    config = {"min.insync.replicas": str(replicas)}
    placed = [[(first + i) % nodes + 1 for i in range(replicas)] for first in range(nodes)]
    wanted = NewTopic(_TOPIC, num_partitions=nodes, replica_assignment=placed, config=config)
    try:
        admin.create_topics([wanted], operation_timeout=_STEP_S, request_timeout=_STEP_S)[_TOPIC].result()
    except KafkaException as e:
        return bool(e.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS)
    return True


def _write_is_stored(properties: dict[str, Any], nodes: int) -> bool:
    from confluent_kafka import KafkaException, Producer

    stored: list[bool] = []
    producer = Producer({**properties, "acks": "all", "message.timeout.ms": str(int(_STEP_S * 1000))})
    try:
        for partition in range(nodes):
            producer.produce(_TOPIC, b"ready?", partition=partition, on_delivery=lambda e, _: stored.append(e is None))
    except KafkaException:
        return False  # the topic is not yet in the metadata this client has
    producer.flush(2 * _STEP_S)
    return len(stored) == nodes and all(stored)


def _coordinator_answers(properties: dict[str, Any]) -> bool:
    """Asking for a group's positions also makes Kafka create the topic it keeps them in, now and not in the run."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    consumer = Consumer({**properties, "group.id": _TOPIC, "enable.auto.commit": "false"})
    try:
        asked = [TopicPartition(_TOPIC, 0, 1)]
        consumer.commit(offsets=asked, asynchronous=False)
        return all(t.error is None for t in consumer.committed(asked, timeout=_STEP_S))
    except KafkaException:
        return False
    finally:
        consumer.close()


def _topic_is_gone(admin) -> bool:  # type: ignore[no-untyped-def]
    from confluent_kafka import KafkaError, KafkaException

    try:
        admin.delete_topics([_TOPIC], operation_timeout=_STEP_S, request_timeout=_STEP_S)[_TOPIC].result()
    except KafkaException as e:
        return bool(e.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART)
    return True
