"""Kafka with markers: single messages are acknowledged, what was not comes again to its own group and says so."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from kafka_load import agent, cell, consume, numbers, publish, soon, started

from brokerlab.brokers.contract import Cluster, Consumer
from brokerlab.brokers.kafka.kmq.broker import BROKER
from brokerlab.brokers.kafka.kmq.markers import TIMEOUT_SETTING, markers_topic
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries
from brokerlab.model.plan import Durability, Role

TIMEOUT_MS = 2000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with started(cell(1, Durability.L4), tmp_path_factory.mktemp("kmq"), BROKER) as cluster:
        yield cluster


def consumer_of(cluster: Cluster, topic: str, group: str) -> Consumer:
    plan = agent(Role.CONSUMER, cluster.endpoint(), (topic,), group=group)
    return BROKER.consumer(plan.model_copy(update={"client_settings": {TIMEOUT_SETTING: str(TIMEOUT_MS)}}), 0)


def send(cluster: Cluster, topic: str, count: int, first: int = 0) -> None:
    producer = BROKER.producer(agent(Role.PRODUCER, cluster.endpoint(), (topic,)), 0)
    publish(producer, count, first)
    producer.close(soon())


def receive_all(consumer: Consumer, count: int) -> list[Deliveries]:
    """Without acknowledging anything."""
    got: list[Deliveries] = []
    until = soon()
    while sum(map(len, got)) < count:
        assert time.monotonic_ns() < until
        got.append(consumer.receive(100, time.monotonic_ns() + 10**8))
    return got


def only(deliveries: Deliveries, keep: list[bool]) -> Deliveries:
    """The same with only some of its messages to acknowledge."""
    assert isinstance(deliveries.token, list)
    return dataclasses.replace(deliveries, token=[t for t, k in zip(deliveries.token, keep, strict=True) if k])


def test_exactly_what_was_not_acknowledged_comes_again_marked_and_only_to_its_group(cluster: Cluster) -> None:
    admin = BROKER.admin(cluster.endpoint(), cell(1, Durability.L4))
    admin.create(("single",), 2, ("one", "other"))
    first, other = consumer_of(cluster, "single", "one"), consumer_of(cluster, "single", "other")
    send(cluster, "single", 300)
    try:
        for some in receive_all(first, 300):
            assert not some.redelivered.any()
            if len(some):
                first.acknowledge(only(some, [n % 3 != 0 for n in numbers(some)]))  # in between, out of order
        assert first.remaining() == 100
        assert sorted(consume(other, 300)) == list(range(300))

        again: list[int] = []
        until = soon()
        while len(again) < 100:
            assert time.monotonic_ns() < until
            some = first.receive(100, time.monotonic_ns() + 10**8)
            assert some.redelivered.all()
            again += numbers(some)
            first.acknowledge(some)
        assert sorted(again) == list(range(0, 300, 3))

        # Beyond another timeout: acknowledged copies do not come a third time, and the other group sees no copy.
        send(cluster, "single", 10, first=300)
        assert sorted(consume(other, 10)) == list(range(300, 310))
        assert sorted(consume(first, 10)) == list(range(300, 310))
        quiet_until = time.monotonic_ns() + 2 * TIMEOUT_MS * 10**6
        while time.monotonic_ns() < quiet_until:
            assert len(first.receive(100, time.monotonic_ns() + 10**8)) == 0
            assert len(other.receive(100, time.monotonic_ns() + 10**8)) == 0
        assert first.remaining() == 0
    finally:
        first.close(soon())
        other.close(soon())
    admin.delete(("single",), ("one", "other"))


def test_what_a_closed_consumer_left_comes_to_the_next_and_clean_up_leaves_no_markers(cluster: Cluster) -> None:
    admin = BROKER.admin(cluster.endpoint(), cell(1, Durability.L4))
    admin.create(("left", "left-more"), 2, ("g",))
    send(cluster, "left", 50)
    gone = consumer_of(cluster, "left", "g")
    receive_all(gone, 50)
    gone.close(soon())
    following = consumer_of(cluster, "left", "g")
    assert sorted(consume(following, 50)) == list(range(50))
    following.close(soon())
    admin.delete(("left",), ("g",))
    with pytest.raises(BrokerError, match=r"has no topic|Unknown topic"):
        admin.effective_settings((markers_topic("left", "g"),))
    assert admin.effective_settings((markers_topic("left-more", "g"),))


def test_a_consumer_that_is_never_given_time_to_wait_receives_all_the_same(cluster: Cluster) -> None:
    """Consumers of one agent take turns: most of the time they are asked without waiting."""
    admin = BROKER.admin(cluster.endpoint(), cell(1, Durability.L4))
    admin.create(("hurried",), 1, ("h",))
    send(cluster, "hurried", 50)
    consumer = consumer_of(cluster, "hurried", "h")
    received, until = 0, soon()
    while received < 50:
        assert time.monotonic_ns() < until
        received += len(consumer.receive(10, 0))
    consumer.close(soon())
    admin.delete(("hurried",), ("h",))


def test_a_tracker_that_died_is_an_error_and_not_silence(cluster: Cluster) -> None:
    BROKER.admin(cluster.endpoint(), cell(1, Durability.L4)).create(("untracked",), 2, ("u",))
    consumer = consumer_of(cluster, "untracked", "u")
    (tracker,) = trackers(psutil.Process())
    tracker.kill()
    psutil.wait_procs([tracker], timeout=120)
    with pytest.raises(BrokerError, match="tracker ended"):
        consumer.receive(10, time.monotonic_ns() + 10**8)
    consumer.close(soon())


def test_no_tracker_outlives_a_consumer_that_was_killed(cluster: Cluster, tmp_path: Path) -> None:
    BROKER.admin(cluster.endpoint(), cell(1, Durability.L4)).create(("killed",), 2, ("k",))
    plan = agent(Role.CONSUMER, cluster.endpoint(), ("killed",), group="k")
    script = tmp_path / "consumer.py"
    script.write_text(
        "import sys, time\n"
        "from brokerlab.brokers.kafka.kmq.broker import BROKER\n"
        "from brokerlab.model.plan import AgentPlan\n"
        "consumer = BROKER.consumer(AgentPlan.model_validate_json(sys.argv[1]), 0)\n"
        "print('there', flush=True)\n"
        "time.sleep(600)\n"
    )
    child = subprocess.Popen([sys.executable, str(script), plan.model_dump_json()], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        with child.stdout as out:
            assert out.readline() == "there\n"
        (tracker,) = trackers(psutil.Process(child.pid))
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    _, alive = psutil.wait_procs([tracker], timeout=120)
    assert alive == []


def trackers(process: psutil.Process) -> list[psutil.Process]:
    return [p for p in process.children() if "brokerlab.brokers.kafka.kmq.tracker" in p.cmdline()]


def test_a_timeout_that_is_no_number_is_refused_and_a_right_one_is_not() -> None:
    wrong = cell(1, Durability.L4, client_settings={TIMEOUT_SETTING: "soon"})
    right = cell(1, Durability.L4, client_settings={TIMEOUT_SETTING: "500"})
    assert any(TIMEOUT_SETTING in problem.field for problem in BROKER.problems(wrong))
    assert BROKER.problems(right) == []
