"""The contract of drivers again on librdkafka, which the suite itself takes only with security; and the two native
consumers side by side: one goes on where the other stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import confluent_kafka as kafka
import numpy as np
import pytest
from contract_load import Sender, agent_plan, cell_for, deadline, receive, unpack, wait_remaining
from contract_servers import Running, running_server
from test_contract import (  # noqa: F401 - these run here with the fixture below
    test_a_block_of_no_messages_is_taken_as_such,
    test_a_group_resumes_where_it_stopped_after_its_consumer_reconnects,
    test_automatic_acknowledgement_leaves_nothing_behind,
    test_consumers_of_one_group_share_the_messages,
    test_every_message_sent_is_acknowledged_exactly_once,
    test_independent_groups_each_receive_everything,
    test_messages_of_many_sizes_arrive_intact,
    test_positions_grow_within_a_lane_where_the_broker_has_them,
    test_receive_gives_no_more_than_asked_and_returns_at_its_deadline,
    test_remaining_counts_down_from_the_backlog_to_nothing,
    test_several_destinations_are_told_apart_by_the_partition_number,
    test_the_senders_buffer_may_be_overwritten_as_soon_as_send_returns,
    test_what_was_not_acknowledged_comes_again_and_what_was_does_not,
)

from brokerlab.brokers.contract import Consumer, Producer
from brokerlab.brokers.kafka.broker import BROKER, KafkaFrontDoor
from brokerlab.brokers.kafka.client import admin_properties
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import AgentPlan, Durability, Endpoint
from brokerlab.native import library, why_not

pytestmark = pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")

FETCH, LIBRDKAFKA = "native (Kafka protocol in C)", "native (librdkafka through C)"
LEFT_TO_LIBRDKAFKA = {"isolation.level": "read_committed", "metadata.max.age.ms": "300000"}


@dataclass(frozen=True)
class OnLibrdkafka(KafkaFrontDoor):
    """Every driver on librdkafka, by settings the others do not have."""

    def producer(self, plan: AgentPlan, number: int) -> Producer:
        made = super().producer(plan.model_copy(update={"client_settings": LEFT_TO_LIBRDKAFKA}), number)
        assert made.path == LIBRDKAFKA
        return made

    def consumer(self, plan: AgentPlan, number: int) -> Consumer:
        return super().consumer(plan.model_copy(update={"client_settings": LEFT_TO_LIBRDKAFKA}), number)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    cell = cell_for("kafka", 1, Durability.L4)
    with running_server(OnLibrdkafka(**vars(BROKER)), cell, tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture
def fetching(server: Running) -> Iterator[Running]:
    """The same server, with the consumer that speaks for itself."""
    made = Running(BROKER, server.cell, server.cluster, server.admin)
    yield made
    made.end_test()


def sent(sender: Sender, count: int) -> None:
    sender.send(count)
    assert {sender.settle()[i] for i in range(sender.taken - count, sender.taken)} == {ACKNOWLEDGED}


def test_each_path_is_the_one_it_says(running: Running, fetching: Running) -> None:
    name = running.destination("g")
    assert running.consumer("g", name).path == LIBRDKAFKA
    assert fetching.consumer("g", name).path == FETCH


@pytest.mark.parametrize("driver", ["python", "librdkafka", "protocol"])
def test_a_messages_key_is_on_the_wire_on_every_path(running: Running, fetching: Running, driver: str) -> None:
    name = running.destination()
    plan = agent_plan(running.cell, running.endpoint, (name,)).model_copy(
        update={"driver": "python" if driver == "python" else "auto"}
    )
    producer = (running if driver == "librdkafka" else fetching).broker.producer(plan, 0)
    sender = Sender(producer, running.cell.partitions)
    try:
        sender.send_block(replace(sender.block(4), keys=np.array([7, 8, 9, 10], np.int32)))
        sender.settle()
    finally:
        producer.close(deadline(10))
    assert sorted(keys_in(running.endpoint, name, running.cell.partitions, 4)) == [7, 8, 9, 10]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_whatever_is_asked_for_one_client_sends_and_all_of_it_arrives(fetching: Running, acks: str) -> None:
    """With acks=0 it is closed with everything still on its way."""
    name = fetching.destination("g")
    plan = agent_plan(fetching.cell, fetching.endpoint, (name,))
    plan = plan.model_copy(update={"client_settings": {"acks": acks, "batch.size": "16384"}})
    producer = fetching.broker.producer(plan, 0)
    assert producer.path == FETCH
    sender = Sender(producer, fetching.cell.partitions, message_bytes=800)
    sender.send(20_000)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    producer.close(deadline(10))
    (got,) = receive([fetching.consumer("g", name)], 20_000)
    assert len(got) == 20_000
    assert all(m.intact for m in got)


def test_with_acks_0_a_refusal_is_a_closed_connection_and_the_rest_is_sent_on_another(fetching: Running) -> None:
    """A message larger than the topic takes is "acknowledged" and never there: all that acks=0 can say."""
    name = fetching.destination("g")
    plan = agent_plan(fetching.cell, fetching.endpoint, (name,))
    settings = {"acks": "0", "message.max.bytes": "4000000", "batch.num.messages": "1"}
    producer = fetching.broker.producer(plan.model_copy(update={"client_settings": settings}), 0)
    sender = Sender(producer, fetching.cell.partitions)
    consumer = fetching.consumer("g", name)
    sender.send(100)
    sender.settle()
    receive([consumer], 100)
    refused = sender.block(1, message_bytes=2_000_000)
    sender.send_block(refused)
    got, until = [], deadline()
    while not got:
        sender.send(1)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}
        got = unpack(consumer.receive(10, time.monotonic_ns() + 20_000_000))
        assert time.monotonic_ns() < until, "the producer never came back"
    producer.close(deadline(10))
    assert (0, 50) not in {(m.partition, m.sequence) for m in got}, "the 51st of its lane is the one that was refused"


@pytest.mark.parametrize(("interval_ms", "committed"), [("0", False), ("1", True)])
def test_positions_are_committed_in_the_interval_asked_for_and_at_the_end(
    fetching: Running, interval_ms: str, committed: bool
) -> None:
    name = fetching.destination("g")
    sent(fetching.sender(name), 1000)
    plan = agent_plan(fetching.cell, fetching.endpoint, (name,), fetching.group("g"), "automatic")
    plan = plan.model_copy(update={"client_settings": {"auto.commit.interval.ms": interval_ms}})
    consumer = fetching.broker.consumer(plan, 0)
    assert consumer.path == FETCH
    receive([consumer], 1000, acknowledge=False, most=100)
    until = deadline(20 if committed else 1)
    while (found := positions(fetching.endpoint, fetching.group("g"), name, fetching.cell.partitions)) == 0:
        consumer.receive(1, time.monotonic_ns() + 10_000_000)
        if time.monotonic_ns() >= until:
            break
    assert (found > 0) == committed
    consumer.close(deadline(10))
    assert positions(fetching.endpoint, fetching.group("g"), name, fetching.cell.partitions) == 1000


def positions(endpoint: Endpoint, group: str, topic: str, partitions: int) -> int:
    """What a group has committed, of all partitions together."""
    asking = kafka.Consumer({**admin_properties(endpoint, {}), "group.id": group, "enable.auto.commit": "false"})
    try:
        asked = [kafka.TopicPartition(topic, p) for p in range(partitions)]
        return sum(max(0, p.offset) for p in asking.committed(asked, timeout=10))
    finally:
        asking.close()


def keys_in(endpoint: Endpoint, topic: str, partitions: int, count: int) -> list[int]:
    """Keys are 4 bytes, big-endian."""
    own = {"group.id": topic, "enable.auto.commit": "false", "auto.offset.reset": "earliest"}
    reader = kafka.Consumer({**admin_properties(endpoint, {}), **own})
    try:
        reader.assign([kafka.TopicPartition(topic, p, 0) for p in range(partitions)])
        found: list[int] = []
        until = deadline()
        while len(found) < count:
            assert time.monotonic_ns() < until, f"only {found}"
            message = reader.poll(0.1)
            if message is not None and message.error() is None:
                found.append(int.from_bytes(message.key()))
        return found
    finally:
        reader.close()


def test_one_path_goes_on_where_the_other_stopped(running: Running, fetching: Running) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    fetching.group = running.group  # type: ignore[method-assign] - one group for both
    seen: set[tuple[int, int, int]] = set()
    for turn, side in enumerate((fetching, running, fetching)):
        sent(sender, 100)
        consumer = side.consumer("g", name)
        (got,) = receive([consumer], 100)
        assert not seen & {m.identity for m in got}, f"turn {turn} read again what was acknowledged"
        seen |= {m.identity for m in got}
        consumer.close(deadline(10))
    assert len(seen) == 300


def test_compressed_batches_are_read_on_by_librdkafka_and_nothing_is_lost_or_doubled(fetching: Running) -> None:
    name = fetching.destination("g")
    plain = fetching.sender(name, number=0)
    sent(plain, 300)
    consumer = fetching.consumer("g", name)
    (before,) = receive([consumer], 300)
    assert consumer.path == FETCH
    settings = {"compression.type": "lz4", "linger.ms": "50"}
    plan = agent_plan(fetching.cell, fetching.endpoint, (name,)).model_copy(update={"client_settings": settings})
    packed = Sender(fetching.broker.producer(plan, 1), fetching.cell.partitions, number=1)
    sent(packed, 300)
    packed.producer.close(deadline(5))
    (between,) = receive([consumer], 300)
    assert consumer.path == LIBRDKAFKA
    sent(plain, 300)
    (after,) = receive([consumer], 300)
    every = [m.identity for m in (*before, *between, *after)]
    assert len(every) == len(set(every)) == 900
    wait_remaining(consumer, 0)
    consumer.close(deadline(10))
    again = fetching.consumer("g", name)
    assert again.remaining() == 0
    assert unpack(again.receive(100, time.monotonic_ns() + 500_000_000)) == []


def test_a_position_before_the_beginning_goes_to_the_beginning(fetching: Running) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    name = fetching.destination("g")
    sent(fetching.sender(name), 100)  # 50 in each of two partitions
    client = AdminClient(admin_properties(fetching.endpoint, {}))
    for future in client.delete_records([TopicPartition(name, 0, 20), TopicPartition(name, 1, 50)]).values():
        future.result()
    (got,) = receive([fetching.consumer("g", name)], 30)
    assert sorted(m.position for m in got) == list(range(20, 50))
    assert {m.partition for m in got} == {0}


def test_a_destination_that_is_not_there_is_a_broker_error(fetching: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brokerlab.brokers.kafka.leaders.PATIENCE_S", 2.0)
    with pytest.raises(BrokerError, match="who leads"):
        fetching.consumer("g", "bl-never-made")


def test_more_consumers_than_partitions_receive_nothing_and_say_so(fetching: Running) -> None:
    name = fetching.destination("g")
    sent(fetching.sender(name), 10)
    idle = fetching.consumer("g", name, number=2, members=3)
    assert len(idle.receive(10, time.monotonic_ns() + 50_000_000)) == 0
    assert idle.remaining() == 0
