"""RabbitMQ's front doors: one for each kind of queue, because what they promise differs."""

from __future__ import annotations

from brokerlab.brokers.contract import Capabilities, TestHints
from brokerlab.brokers.kit.front_door import FrontDoor, Parts
from brokerlab.brokers.rabbitmq.install import RECIPE
from brokerlab.brokers.rabbitmq.settings import LEVELS, Kind

_PROMISES: dict[Kind, str] = {
    "classic": "the one node that has the queue has taken the message; it is written to disk soon, without fsync; with "
    "confirms=false: it was handed to the network",
    "quorum": "a majority of the queue's members has written the message to its log and fsynced it",
    "stream": "a majority of the stream's replicas has written the message, to the operating system only",
}
_MANAGEMENT = "http://HOST:PORT[,...]: the management plugin, which tells what kind of queue it is and its replicas"


def _front_door(kind: Kind) -> FrontDoor:
    is_stream = kind == "stream"
    producer = "stream_producer:StreamProducer" if is_stream else "producer:AmqpProducer"
    consumer = "stream_consumer:StreamConsumer" if is_stream else "consumer:AmqpConsumer"
    streams = {"stream": "HOST:PORT[,...]: the listeners of the stream protocol"}
    return FrontDoor(
        name=f"rabbitmq-{kind}",
        product="RabbitMQ",
        runs=f"RabbitMQ 4 with its Erlang from Debian packages, without root: {kind} queues",
        folder=__package__,
        capabilities=Capabilities(
            nodes=(1, 3),
            durability_levels=LEVELS[kind],
            replay=is_stream,
            individual_acknowledgement=not is_stream,
            positions=is_stream,
            acknowledgement=_PROMISES[kind],
            security=("tls", "password"),
            can_lose_a_node=() if kind == "classic" else (3,),  # a classic queue lives on one node
            delete_by_hand="delete the queues that begin with {name}/ and the exchange {name}, if there is one",
            endpoint_options={"management": _MANAGEMENT, **(streams if is_stream else {})},
        ),
        recipe=RECIPE,
        parts=Parts.called(
            "Rabbit",
            producer=producer,
            consumer=consumer,
            lag="lag:RabbitLag",
            figures_at={"prometheus": ("prometheus", "http://{host}:15692/metrics")},
        ),
        test_hints=TestHints(
            address_option="stream" if is_stream else None,
            lag_probe_tells=() if is_stream else ("lag_messages", "messages_in_total"),
        ),
    )


CLASSIC, QUORUM, STREAM = _front_door("classic"), _front_door("quorum"), _front_door("stream")
