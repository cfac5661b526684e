"""The whole contract again on pulsar-client: the suite itself takes the native path wherever there is a compiler. And both
paths side by side: each reads what the other wrote, and goes on where the other stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pulsar
import pytest
from contract_load import Sender, agent_plan, cell_for, deadline, receive, wait_remaining
from contract_servers import Running, running_server
from test_contract import *  # noqa: F403 - its tests run here with the fixture below

from brokerlab.brokers.contract import Consumer, Producer
from brokerlab.brokers.kit.front_door import FrontDoor
from brokerlab.brokers.pulsar.broker import BROKER
from brokerlab.brokers.pulsar.client import connect, partition_topic
from brokerlab.brokers.pulsar.rest import Rest, topic_path
from brokerlab.brokers.pulsar.settings import namespace_of
from brokerlab.errors import BrokerError, MachineError
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN
from brokerlab.model.plan import AgentPlan, Durability
from brokerlab.native import library, why_not

pytestmark = pytest.mark.timeout(900)
NATIVE = "native (Pulsar protocol in C)"
needs_c = pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")


@dataclass(frozen=True)
class OnPython(FrontDoor):
    """Every driver on pulsar-client, whatever the plan says."""

    def producer(self, plan: AgentPlan, number: int) -> Producer:
        return super().producer(plan.model_copy(update={"driver": "python"}), number)

    def consumer(self, plan: AgentPlan, number: int) -> Consumer:
        return super().consumer(plan.model_copy(update={"driver": "python"}), number)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    cell = cell_for("pulsar", 1, Durability.L4)
    with running_server(OnPython(**vars(BROKER)), cell, tmp_path_factory.mktemp("pulsar")) as running:
        yield running


@pytest.fixture
def native(server: Running) -> Iterator[Running]:
    """The same server, with the drivers in C."""
    made = Running(BROKER, server.cell, server.cluster, server.admin)
    yield made
    made.end_test()


def sent(sender: Sender, count: int) -> None:
    sender.send(count)
    assert {sender.settle()[i] for i in range(sender.taken - count, sender.taken)} == {ACKNOWLEDGED}


@needs_c
def test_each_path_is_the_one_it_says(running: Running, native: Running) -> None:
    name = running.destination("g")
    for one, path in ((running, "python (pulsar-client"), (native, NATIVE)):
        assert one.sender(name).producer.path.startswith(path)
        assert one.consumer("g", name).path.startswith(path)


@needs_c
def test_each_path_reads_what_the_other_wrote_and_goes_on_where_it_stopped(running: Running, native: Running) -> None:
    name = running.destination("g")
    native.group = running.group  # type: ignore[method-assign] - one group for both
    seen: set[tuple[int, int, int]] = set()
    for turn, (writer, reader) in enumerate([(native, running), (running, native), (native, native)]):
        sent(writer.sender(name, number=turn), 300)
        consumer = reader.consumer("g", name)
        (got,) = receive([consumer], 300)
        assert all(m.intact for m in got)
        assert not seen & {m.identity for m in got}, f"turn {turn} read again what was acknowledged"
        seen |= {m.identity for m in got}
        wait_remaining(consumer, 0)
        consumer.close(deadline(10))
    assert len(seen) == 900


@needs_c
@pytest.mark.parametrize("batching", ["true", "false"])
def test_a_messages_key_is_on_the_wire_with_and_without_batches(native: Running, batching: str) -> None:
    name = native.destination()
    plan = agent_plan(native.cell, native.endpoint, (name,))
    plan = plan.model_copy(update={"client_settings": {"batching_enabled": batching}})
    producer = native.broker.producer(plan, 0)
    assert producer.path == NATIVE
    sender = Sender(producer, native.cell.partitions)
    sender.send_block(replace(sender.block(4), keys=np.array([7, -8, 9, 10], np.int32)))
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    producer.close(deadline(10))
    client = connect(native.endpoint)
    try:
        topics = [partition_topic(name, p, native.cell.durability) for p in range(native.cell.partitions)]
        reader = client.subscribe(topics, "reads-keys", initial_position=pulsar.InitialPosition.Earliest)
        assert sorted(int(reader.receive(60_000).partition_key()) for _ in range(4)) == [-8, 7, 9, 10]
    finally:
        client.close()


@needs_c
def test_a_topic_that_is_unloaded_is_found_again_and_nothing_acknowledged_is_lost(native: Running) -> None:
    """The broker closes its producers and consumers, and leaves their connections open."""
    name = native.destination("g")
    sender, consumer = native.sender(name), native.consumer("g", name)
    sent(sender, 100)
    receive([consumer], 100)
    wait_remaining(consumer, 0)
    rest = Rest(native.endpoint)
    for partition in range(native.cell.partitions):
        path = topic_path(namespace_of(native.cell.durability), f"{name}-partition-{partition}")
        sender.send(20)
        rest.request("PUT", f"{path}/unload")
        sender.send(20)
    outcomes = sender.settle()
    assert set(outcomes.values()) <= {ACKNOWLEDGED, UNKNOWN}
    sent(sender, 100)
    wanted = sum(outcome == ACKNOWLEDGED for outcome in sender.outcomes.values()) - 100
    (got,) = receive([consumer], wanted)
    assert len({m.identity for m in got}) >= wanted


@needs_c
def test_compressed_batches_end_the_consumer_in_c_with_what_to_do(running: Running, native: Running) -> None:
    name = running.destination("g")
    plan = agent_plan(running.cell, running.endpoint, (name,))
    packed = {"compression_type": "LZ4", "batching_max_publish_delay_ms": "50"}
    producer = BROKER.producer(plan.model_copy(update={"client_settings": packed}), 0)
    assert producer.path.startswith("python"), "what the path in C does not do"
    sent(Sender(producer, running.cell.partitions), 300)
    producer.close(deadline(10))
    native.group = running.group  # type: ignore[method-assign]
    consumer = native.consumer("g", name)
    with pytest.raises(BrokerError, match="driver: python"):
        receive([consumer], 300, seconds=60)
    consumer.close(deadline(10))
    (got,) = receive([running.consumer("g", name)], 300)
    assert len(got) == 300


def test_native_is_refused_for_what_it_does_not_do(running: Running) -> None:
    plan = agent_plan(running.cell, running.endpoint, ("d",)).model_copy(update={"driver": "native"})
    with pytest.raises(MachineError, match="no compression"):
        BROKER.producer(plan.model_copy(update={"client_settings": {"compression_type": "LZ4"}}), 0)
    cell = running.cell.model_copy(update={"driver": "native", "client_settings": {"compression_type": "LZ4"}})
    assert any("no compression" in problem.message for problem in BROKER.problems(cell))
