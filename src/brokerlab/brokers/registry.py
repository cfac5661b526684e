"""The table of brokers. Explicit: a folder that is not listed here does not exist.

A folder whose product has several kinds of queue (RabbitMQ: classic, quorum, stream) is listed once for each, because
what they promise differs: "module" means its BROKER, "module:NAME" another of its objects.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING, cast

from brokerlab.errors import NotFoundError
from brokerlab.install.preferred import check_preferred_names, preferred_names

if TYPE_CHECKING:
    from brokerlab.brokers.contract import Broker
    from brokerlab.model.watched import WatchedMetric

BROKERS = {
    "kafka": "brokerlab.brokers.kafka.broker",
    "kafka-kmq": "brokerlab.brokers.kafka.kmq.broker",
    "nats": "brokerlab.brokers.nats.broker",
    "postgresql": "brokerlab.brokers.postgresql.broker",
    "rabbitmq-classic": "brokerlab.brokers.rabbitmq.broker:CLASSIC",
    "rabbitmq-quorum": "brokerlab.brokers.rabbitmq.broker:QUORUM",
    "rabbitmq-stream": "brokerlab.brokers.rabbitmq.broker:STREAM",
    "redis": "brokerlab.brokers.redis.broker:REDIS",
    "valkey": "brokerlab.brokers.redis.broker:VALKEY",
    "redis-cluster": "brokerlab.brokers.redis.broker:REDIS_CLUSTER",
    "valkey-cluster": "brokerlab.brokers.redis.broker:VALKEY_CLUSTER",
    "pulsar": "brokerlab.brokers.pulsar.broker",
    "activemq": "brokerlab.brokers.activemq.broker",
    "artemis": "brokerlab.brokers.artemis.broker",
    "mongodb": "brokerlab.brokers.mongodb.broker",
    "redpanda": "brokerlab.brokers.redpanda.broker",
    "nats-streaming": "brokerlab.brokers.nats_streaming.broker",
    "eventstore": "brokerlab.brokers.eventstore.broker",
    "sqs": "brokerlab.brokers.sqs.broker",
    "rocketmq": "brokerlab.brokers.rocketmq.broker",
    "memory": "brokerlab.brokers.memory.broker",
    "faulty": "brokerlab.brokers.faulty.broker",
}


def broker_named(name: str) -> Broker:
    """The front door of one broker."""
    if name not in BROKERS:
        near = difflib.get_close_matches(name, BROKERS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise NotFoundError(f"no broker is called {name!r}", hint=f"{hint}Known: {', '.join(BROKERS)}")
    if preferred_names():  # a slip in the variable is reported whichever broker is asked for
        check_preferred_names(preferable())
    return _imported(name)


def preferable() -> tuple[str, ...]:
    """The servers that users may prefer of their own, on PATH, by the names they have there."""
    names = (_imported(name).preferred_as for name in BROKERS)
    return tuple(dict.fromkeys(name for name in names if name is not None))


def folder_of(name: str) -> str:
    """The broker's folder: several names may share one."""
    return BROKERS[name].split(".")[2]


def metrics_of(name: str) -> tuple[WatchedMetric, ...]:
    """The rows that the broker's folder adds to the table of metrics; needs no client library."""
    return cast("tuple[WatchedMetric, ...]", import_module(f"brokerlab.brokers.{folder_of(name)}.metrics").METRICS)


def _imported(name: str) -> Broker:
    module, _, attribute = BROKERS[name].partition(":")
    return cast("Broker", getattr(import_module(module), attribute or "BROKER"))
