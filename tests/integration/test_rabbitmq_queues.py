"""RabbitMQ's queues: refusals, the exact backlog, the confirm window, and a restart. One server with streams on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pika import spec
from rabbitmq_load import (
    BROKERS,
    GROUP,
    PARTITIONS,
    WINDOW,
    agent,
    block,
    cell,
    commands,
    consume,
    numbers,
    publish,
    settle,
    soon,
    started,
    wait_until_gone,
)

from brokerlab.brokers.contract import Cluster, Consumer, Producer
from brokerlab.brokers.rabbitmq.amqp import AmqpLink
from brokerlab.brokers.rabbitmq.cluster import RabbitCluster
from brokerlab.brokers.rabbitmq.management import Management
from brokerlab.brokers.rabbitmq.names import group_queue, routing_key
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN

KINDS = ("classic", "quorum", "stream")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rabbitmq")


@pytest.fixture(scope="module")
def cluster(directory: Path) -> Iterator[Cluster]:
    # A node that speaks the stream protocol has all three kinds.
    with started(cell("stream"), directory) as running:
        yield running


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def drivers(cluster: Cluster, kind: str, destination: str, closing: ExitStack) -> tuple[Producer, Consumer]:
    broker, endpoint = BROKERS[kind], cluster.endpoint()
    broker.admin(endpoint, cell(kind)).create((destination,), PARTITIONS, (GROUP,))
    producer = broker.producer(agent(kind, "producer", endpoint, destination), 0)
    closing.callback(producer.close, soon())
    consumer = broker.consumer(agent(kind, "consumer", endpoint, destination), 0)
    closing.callback(consumer.close, soon())
    return producer, consumer


@pytest.mark.parametrize("kind", KINDS)
def test_the_backlog_is_exact_at_once_and_needs_no_management_address(
    cluster: Cluster, kind: str, closing: ExitStack
) -> None:
    """Management's counts are sampled: a drain that trusted them would end too early, or never."""
    name = f"backlog-{kind}"
    producer, _ = drivers(cluster, kind, name, closing)
    endpoint = cluster.endpoint()
    blind = {k: v for k, v in endpoint.options.items() if k != "management"}
    consumer = BROKERS[kind].consumer(agent(kind, "consumer", endpoint.model_copy(update={"options": blind}), name), 0)
    closing.callback(consumer.close, soon())
    _.close(soon())
    for round_number in range(5):
        assert set(publish(producer, 200, 200 * round_number).values()) == {ACKNOWLEDGED}
        left = consumer.remaining()
        assert left is not None
        assert left >= 200, "never fewer than were confirmed, from the moment on they were confirmed"
        until = soon()
        while kind == "stream" and left != 200:  # offsets of groups stand in the stream as well, until they are read
            assert time.monotonic_ns() < until
            left = consumer.remaining()
        assert left == 200
        consume(consumer, 200)
        assert consumer.remaining() == 0, "and nothing is left in the moment all is acknowledged"


@pytest.mark.parametrize("kind", KINDS)
def test_management_shows_no_message_counts_that_somebody_could_trust(
    cluster: Cluster, kind: str, closing: ExitStack
) -> None:
    producer, _ = drivers(cluster, kind, f"counts-{kind}", closing)
    publish(producer, 100)
    management = Management(cluster.endpoint())
    infos = [q for q in management.get("queues", "/") if q["name"].startswith(f"counts-{kind}/")]
    assert infos
    assert not any("message_stats" in q or "messages_details" in q for q in infos)


@pytest.mark.parametrize("kind", KINDS)
def test_the_confirm_window_stands_beside_every_latency(cluster: Cluster, kind: str, closing: ExitStack) -> None:
    """In the path that a result names and in the settings that a report shows: 2000 and 10000 differ by x5 in p50."""
    producer, _ = drivers(cluster, kind, f"window-{kind}", closing)
    assert f"confirm window {WINDOW}" in producer.path
    settings = BROKERS[kind].admin(cluster.endpoint(), cell(kind)).effective_settings((f"window-{kind}",))
    assert settings["clients"]["confirm window"] == str(WINDOW)
    assert settings["cluster"]["rabbitmq_version"].startswith("4.")


def test_without_confirms_a_message_is_acknowledged_when_it_is_handed_over(
    cluster: Cluster, closing: ExitStack
) -> None:
    """All of it arrives, though the producer is closed at once; and settings, level and path say what it was."""
    name, off = "unconfirmed", {"confirms": "false"}
    asked = cell("classic", client_settings=off)
    broker, endpoint = BROKERS["classic"], cluster.endpoint()
    assert broker.problems(asked) == []
    admin = broker.admin(endpoint, asked)
    admin.create((name,), PARTITIONS, (GROUP,))
    producer = broker.producer(agent("classic", "producer", endpoint, name, client_settings=off), 0)
    assert producer.path.endswith("without confirms")
    assert set(publish(producer, 20_000).values()) == {ACKNOWLEDGED}
    producer.close(soon())
    consumer = broker.consumer(agent("classic", "consumer", endpoint, name), 0)
    closing.callback(consumer.close, soon())
    assert sorted(consume(consumer, 20_000)) == list(range(20_000))
    assert admin.effective_settings((name,))["clients"]["publisher confirms"].startswith("off")
    found = admin.durability((name,))
    assert found.level.value == "L4"
    assert found.because["publisher confirms"].startswith("off")


def test_without_confirms_what_no_queue_takes_is_acknowledged_and_gone(cluster: Cluster, closing: ExitStack) -> None:
    """That is what handed over means: the server drops it and says nothing."""
    name, off = "unconfirmed-gone", {"confirms": "off"}
    broker, endpoint = BROKERS["classic"], cluster.endpoint()
    broker.admin(endpoint, cell("classic")).create((name,), PARTITIONS, (GROUP,))
    producer = broker.producer(agent("classic", "producer", endpoint, name, client_settings=off), 0)
    closing.callback(producer.close, soon())
    with AmqpLink.session(endpoint) as link:
        link.call(spec.Queue.Delete(queue=group_queue(name, GROUP, 1)))
    outcomes = publish(producer, 200)
    assert set(outcomes.values()) == {ACKNOWLEDGED}
    consumer = broker.consumer(agent("classic", "consumer", endpoint, name, partitions=1), 0)
    closing.callback(consumer.close, soon())
    assert sorted(consume(consumer, 100)) == list(range(0, 200, 2))


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_a_message_that_no_queue_takes_is_rejected_and_the_others_are_not(
    cluster: Cluster, kind: str, closing: ExitStack
) -> None:
    name = f"unroutable-{kind}"
    producer, consumer = drivers(cluster, kind, name, closing)
    link = AmqpLink.open(cluster.endpoint(), "test")
    closing.callback(link.close, soon())
    link.call(spec.Queue.Unbind(queue=group_queue(name, GROUP, 1), exchange=name, routing_key=routing_key(1)))
    assert producer.send(block(0, 100)) == 100
    outcomes: dict[int, int] = {}
    errors = settle(producer, outcomes, 100)
    assert outcomes == {i: REJECTED if i % 2 else ACKNOWLEDGED for i in range(100)}
    assert errors == {"312 NO_ROUTE": 50}
    assert sorted(consume(consumer, 50)) == list(range(0, 100, 2))


def test_a_queue_that_is_full_rejects_what_it_does_not_take(cluster: Cluster, closing: ExitStack) -> None:
    name, endpoint = "full", cluster.endpoint()
    link = AmqpLink.open(endpoint, "test")
    closing.callback(link.close, soon())
    link.call(spec.Exchange.Declare(exchange=name, type="direct", durable=True))
    arguments = {"x-queue-type": "classic", "x-max-length": 10, "x-overflow": "reject-publish"}
    for partition in range(PARTITIONS):
        queue = group_queue(name, GROUP, partition)
        link.call(spec.Queue.Declare(queue=queue, durable=True, arguments=arguments))
        link.call(spec.Queue.Bind(queue=queue, exchange=name, routing_key=routing_key(partition)))
    producer = BROKERS["classic"].producer(agent("classic", "producer", endpoint, name), 0)
    closing.callback(producer.close, soon())
    outcomes: dict[int, int] = {}
    errors: dict[str, int] = {}
    for i in range(60):  # one by one: a classic queue takes a burst before it knows its own length
        assert producer.send(block(i, 1)) == 1
        errors |= settle(producer, outcomes, i + 1)
    consumer = BROKERS["classic"].consumer(agent("classic", "consumer", endpoint, name), 0)
    closing.callback(consumer.close, soon())
    accepted = {i for i, outcome in outcomes.items() if outcome == ACKNOWLEDGED}
    assert {outcomes[i] for i in set(outcomes) - accepted} == {REJECTED}
    assert set(errors) == {"basic.nack"}
    assert set(consume(consumer, len(accepted))) == accepted


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_a_channel_that_the_server_closes_makes_open_messages_unknown_and_is_opened_again(
    cluster: Cluster, kind: str, closing: ExitStack
) -> None:
    name = f"closed-{kind}"
    producer, consumer = drivers(cluster, kind, name, closing)
    link = AmqpLink.open(cluster.endpoint(), "test")
    closing.callback(link.close, soon())
    link.call(spec.Exchange.Delete(exchange=name))
    assert producer.send(block(0, 20)) == 20
    outcomes: dict[int, int] = {}
    errors = settle(producer, outcomes, 20)
    assert set(outcomes.values()) == {UNKNOWN}
    assert all("404" in error for error in errors)
    BROKERS[kind].admin(cluster.endpoint(), cell(kind)).create((name,), PARTITIONS, (GROUP,))
    assert set(publish(producer, 50, 20).values()) == {ACKNOWLEDGED}
    assert sorted(consume(consumer, 50)) == list(range(20, 70))


def test_acknowledging_the_second_chunk_does_not_acknowledge_the_first(cluster: Cluster, closing: ExitStack) -> None:
    producer, consumer = drivers(cluster, "quorum", "individual", closing)
    publish(producer, 40)
    chunks, until = [], soon()
    while sum(map(len, chunks)) < 40:
        assert time.monotonic_ns() < until
        chunks.append(consumer.receive(10, time.monotonic_ns() + 10**8))
    first, *others = [c for c in chunks if len(c)]
    for chunk in others:
        consumer.acknowledge(chunk)
    assert consumer.remaining() == len(first)
    consumer.close(soon())
    again = BROKERS["quorum"].consumer(agent("quorum", "consumer", cluster.endpoint(), "individual"), 0)
    closing.callback(again.close, soon())
    got = again.receive(100, soon())
    assert set(numbers(got)) <= set(numbers(first))
    assert all(got.redelivered), "RabbitMQ says of each that it comes again"


def test_a_destination_that_does_not_exist_is_a_broker_error(cluster: Cluster) -> None:
    for kind in KINDS:
        with pytest.raises(BrokerError):
            BROKERS[kind].consumer(agent(kind, "consumer", cluster.endpoint(), "never-made"), 0)


# The last two in this file: they stop the server that all share.
def test_everything_is_there_as_soon_as_a_restarted_server_says_it_is_ready(cluster: Cluster) -> None:
    """A port that answers is not enough: streams refuse consumers for a while after a restart."""
    with ExitStack() as stack:
        for kind in KINDS:
            publish(drivers(cluster, kind, f"restart-{kind}", stack)[0], 300)
    assert isinstance(cluster, RabbitCluster)
    cluster.stop()
    cluster.start()
    cluster.wait_ready(soon())
    with ExitStack() as stack:
        for kind in KINDS:
            consumer = BROKERS[kind].consumer(agent(kind, "consumer", cluster.endpoint(), f"restart-{kind}"), 0)
            stack.callback(consumer.close, soon())
            producer = BROKERS[kind].producer(agent(kind, "producer", cluster.endpoint(), f"restart-{kind}"), 0)
            stack.callback(producer.close, soon())
            assert set(publish(producer, 50, 300).values()) == {ACKNOWLEDGED}
            assert sorted(set(consume(consumer, 350))) == list(range(350))


def test_a_stopped_cluster_leaves_no_process_not_even_the_port_mapper(cluster: Cluster, directory: Path) -> None:
    running = commands(directory)
    assert any("epmd" in c and "127.0.0.1" in c for c in running), "the port mapper is ours, on loopback"
    (node,) = cluster.nodes()
    assert Path(f"/proc/{node.pid}/comm").read_text() == "beam.smp\n", "the node itself, not a shell above it"
    cluster.stop()
    assert cluster.dead_nodes() == ()
    wait_until_gone(directory)
