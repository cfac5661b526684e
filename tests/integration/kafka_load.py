"""Small loads on Kafka clusters of ours: cells, plans, blocks of numbered messages, and loops that end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from brokerlab.brokers.contract import Broker, Cluster, Consumer, Producer
from brokerlab.brokers.kafka.broker import BROKER
from brokerlab.cluster.cache import silent
from brokerlab.model.blocks import Block, Deliveries
from brokerlab.model.plan import (
    AgentPlan,
    CellPlan,
    ConsumersPlan,
    Durability,
    Endpoint,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    Role,
    SchedulePlan,
    SizeShare,
)

MINUTES_NS = 60 * 10**9
PRODUCERS = ProducersPlan(
    count=1,
    agents=1,
    schedule=SchedulePlan(rate_per_s=1000),
    payload=PayloadPlan(sizes=(SizeShare(message_bytes=100, weight=1),)),
    window_limit=400,
)
PHASES = PhasesPlan(warm_up_s=1, measure_s=1, drain_limit_s=1)


def soon() -> int:
    return time.monotonic_ns() + 4 * MINUTES_NS


def cell(nodes: int, durability: Durability, **changes: Any) -> CellPlan:
    values: dict[str, Any] = {
        "cell": "c01",
        "label": "test",
        "broker": "kafka",
        "nodes": nodes,
        "durability": durability,
        "destinations": 2,
        "partitions": 2,
        "producers": PRODUCERS,
        "consumers": ConsumersPlan(groups=1, per_group=2, agents_per_group=1),
        "phases": PHASES,
        "parameters": {},
        "broker_settings": {},
        "client_settings": {},
    }
    return CellPlan(**{**values, **changes})


def agent(role: Role, endpoint: Endpoint, topics: tuple[str, ...], per_group: int = 1, **changes: Any) -> AgentPlan:
    values: dict[str, Any] = {
        "run": "test",
        "cell": "c01",
        "repeat": 1,
        "agent": f"{role}-1",
        "run_tag": 1,
        "role": role,
        "broker": "kafka",
        "driver": "python",
        "endpoint": endpoint,
        "destinations": topics,
        "partitions": 2,
        "members": (0,),
        "producers_in_cell": 1,
        "group": f"group-{topics[0]}",
        "producers": PRODUCERS,
        "consumers": ConsumersPlan(groups=1, per_group=per_group, agents_per_group=1),
        "phases": PHASES,
        "client_settings": {},
        "durability": Durability.L4,
        "evidence_directory": "unused",
        "seed": 1,
    }
    return AgentPlan(**{**values, **changes})


def block(first_index: int, count: int, message_bytes: int = 100, partitions: int = 4) -> Block:
    """Messages whose first eight bytes are their number."""
    rows = np.zeros((count, message_bytes), np.uint8)
    rows[:, :8] = np.arange(first_index, first_index + count, dtype="<i8").view(np.uint8).reshape(count, 8)
    return Block(
        buffer=rows.reshape(-1),
        offsets=np.arange(count, dtype=np.int64) * message_bytes,
        lengths=np.full(count, message_bytes, np.int32),
        partitions=(np.arange(first_index, first_index + count) % partitions).astype(np.int32),
        first_index=first_index,
    )


def numbers(deliveries: Deliveries) -> list[int]:
    """Which messages of `block` these are; any size, read through their addresses as the engine does."""
    import ctypes

    return [int.from_bytes(ctypes.string_at(a, 8), "little") for a in deliveries.addresses.tolist()]


def publish(producer: Producer, count: int, first: int = 0, partitions: int = 2) -> dict[int, int]:
    """Send so many numbered messages and wait for the outcome of each."""
    sent, outcomes, until = first, {}, soon()
    while len(outcomes) < count:
        assert time.monotonic_ns() < until, f"{len(outcomes)} of {count} settled"
        if sent < first + count:
            sent += producer.send(block(sent, min(300, first + count - sent), partitions=partitions))
        settled = producer.settled()
        outcomes |= dict(zip(settled.indices.tolist(), settled.outcomes.tolist(), strict=True))
        time.sleep(0.001)
    return outcomes


def consume(consumer: Consumer, count: int) -> list[int]:
    """Receive and acknowledge until there are so many different messages."""
    got: list[int] = []
    until = soon()
    while len(set(got)) < count:
        assert time.monotonic_ns() < until, f"{len(set(got))} of {count} received"
        deliveries = consumer.receive(500, time.monotonic_ns() + 10**8)
        got += numbers(deliveries)
        consumer.acknowledge(deliveries)
        if deliveries.release is not None:
            deliveries.release()
    return got


@contextmanager
def started(plan: CellPlan, directory: Path, broker: Broker = BROKER) -> Iterator[Cluster]:
    """A cluster of ours, ready; gone afterwards, data and all."""
    assert broker.install(silent).runs_here
    cluster = broker.cluster(plan, directory / "data", directory / "logs")
    try:
        cluster.start()
        cluster.wait_ready(soon())
        yield cluster
    finally:
        cluster.stop()
        cluster.clean()
