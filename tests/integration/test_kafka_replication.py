"""Three nodes: ready means that replicas really store, and a node may be lost on purpose."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka_load import BROKER, agent, assert_acknowledged, cell, consume, publish, soon, started

from brokerlab.brokers.contract import CanLoseANode, Cluster
from brokerlab.brokers.kafka.access import Client
from brokerlab.errors import BrokerError, NotReadyError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Role

# Nobody is dropped from the ISR or fenced while it is frozen: the metadata stay as they were.
PATIENT = {"replica.lag.time.max.ms": "600000", "broker.session.timeout.ms": "600000"}
FAST = {"broker.session.timeout.ms": "6000"}
BOUND_S = 8


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kafka3")


@pytest.fixture(scope="module")
def patient(directory: Path) -> Iterator[Cluster]:
    with started(cell(3, Durability.L2, broker_settings=PATIENT), directory) as cluster:
        yield cluster


def _follower_only(cluster: Cluster, logs: Path) -> int:
    """The pid of a node that does not lead the controllers."""
    pids = {node.name: node.pid for node in cluster.nodes()}
    leads = {name for name in pids if "Becoming the active controller" in (logs / f"{name}.log").read_text()}
    return next(pid for name, pid in pids.items() if name not in leads)


def _why_not_ready(cluster: Cluster) -> str:
    """What was waited for in vain. A client may ask the frozen node itself to make the topic, since any node passes that
    on to the controllers, and then waits for this alone: it is given several chances to ask another."""
    said = ""
    for _ in range(6):
        begun = time.monotonic()
        with pytest.raises(NotReadyError) as raised:
            cluster.wait_ready(time.monotonic_ns() + BOUND_S * 10**9)
        assert time.monotonic() - begun < BOUND_S + 120
        said = raised.value.message
        if "a topic replicated" not in said:
            break
    return said


@pytest.mark.parametrize("level", list(Durability))
def test_three_nodes_give_the_level_asked_for(patient: Cluster, level: Durability) -> None:
    admin = BROKER.admin(patient.endpoint(), cell(3, level))
    destination = f"level-{level}"
    admin.create((destination,), 3, ())
    computed = admin.durability((destination,))
    assert computed.level == level
    assert computed.because["replication_factor"] == ("3" if level in (Durability.L1, Durability.L2) else "1")
    assert len(admin.effective_settings(())) == 3
    assert_acknowledged(patient, destination, level, partitions=3)


def test_a_full_isr_is_not_ready_while_a_follower_stores_nothing(patient: Cluster, directory: Path) -> None:
    frozen = _follower_only(patient, directory / "logs")
    os.kill(frozen, signal.SIGSTOP)
    try:
        assert "a write stored by 3" in _why_not_ready(patient)
        # The trap itself: what the metadata say looks perfect all the while.
        topic = Client(patient.endpoint(), {}).metadata(60).topics["brokerlab-ready"]
        assert [sorted(p.isrs) for p in topic.partitions.values()] == [[1, 2, 3]] * 3
        assert all(p.leader > 0 for p in topic.partitions.values())
    finally:
        os.kill(frozen, signal.SIGCONT)
    patient.wait_ready(soon())


def test_with_two_of_three_frozen_nothing_is_ready_in_bounded_time(patient: Cluster) -> None:
    frozen = [node.pid for node in patient.nodes()][1:]
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        with pytest.raises(NotReadyError):
            patient.wait_ready(time.monotonic_ns() + BOUND_S * 10**9)
        assert time.monotonic() - begun < BOUND_S + 120
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.slow  # a start of its own, and the outage itself
def test_the_leader_can_be_killed_and_another_takes_over(tmp_path: Path) -> None:
    asked = cell(3, Durability.L2, broker_settings=FAST)
    with started(asked, tmp_path) as cluster:
        assert isinstance(cluster, CanLoseANode)
        BROKER.admin(cluster.endpoint(), asked).create(("kept",), 2, ())
        plan = agent(Role.PRODUCER, cluster.endpoint(), ("kept",), durability=Durability.L2)
        producer = BROKER.producer(plan, 0)
        assert set(publish(producer, 100).values()) == {ACKNOWLEDGED}
        leader = cluster.leading_node("kept")
        assert leader in {node.name for node in cluster.nodes()}
        cluster.kill_node(leader)
        assert cluster.dead_nodes() == (), "it was no accident"
        until = soon()
        while _leader(cluster, "kept") in (None, leader):
            assert time.monotonic_ns() < until
            time.sleep(0.2)
        again = publish(producer, 100, first=100)
        assert ACKNOWLEDGED in set(again.values())
        producer.close(soon())
        consumer = BROKER.consumer(agent(Role.CONSUMER, cluster.endpoint(), ("kept",)), 0)
        acknowledged = 100 + sum(outcome == ACKNOWLEDGED for outcome in again.values())
        assert len(set(consume(consumer, acknowledged))) >= acknowledged
        consumer.close(soon())
        with pytest.raises(KeyError):
            cluster.kill_node("kafka-7")


def _leader(cluster: Cluster, topic: str) -> str | None:
    assert isinstance(cluster, CanLoseANode)
    try:
        return cluster.leading_node(topic)
    except BrokerError:
        return None
