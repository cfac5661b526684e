"""Making exchanges, queues and streams."""

from __future__ import annotations

from pika import spec

from brokerlab.brokers.rabbitmq.amqp import AmqpLink
from brokerlab.brokers.rabbitmq.names import group_queue, routing_key, stream_name
from brokerlab.brokers.rabbitmq.settings import RabbitSettings


def declare_exchange(link: AmqpLink, destination: str) -> None:
    link.call(spec.Exchange.Declare(exchange=destination, type="direct", durable=True))


def declare_group(link: AmqpLink, destination: str, group: str, partitions: int, settings: RabbitSettings) -> list[str]:
    """A queue for each partition, bound to the destination's exchange; their names."""
    queues = []
    for partition in range(partitions):
        queue = group_queue(destination, group, partition)
        _declare(link, queue, settings)
        link.call(spec.Queue.Bind(queue=queue, exchange=destination, routing_key=routing_key(partition)))
        queues.append(queue)
    return queues


def declare_streams(link: AmqpLink, destination: str, partitions: int, settings: RabbitSettings) -> list[str]:
    names = [stream_name(destination, p) for p in range(partitions)]
    for name in names:
        _declare(link, name, settings)
    return names


def _declare(link: AmqpLink, queue: str, settings: RabbitSettings) -> None:
    link.call(spec.Queue.Declare(queue=queue, durable=True, arguments=settings.arguments()))
