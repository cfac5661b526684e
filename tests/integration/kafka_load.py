"""Small loads on Kafka clusters of ours: cells and plans. Messages are those of `numbered_load`."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from numbered_load import block, soon, started_cluster
from numbered_load import consume as consume
from numbered_load import numbers as numbers

from brokerlab.brokers.contract import Broker, Cluster, Producer
from brokerlab.brokers.kafka.broker import BROKER
from brokerlab.model.blocks import ACKNOWLEDGED
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

PRODUCERS = ProducersPlan(
    count=1,
    agents=1,
    schedule=SchedulePlan(rate_per_s=1000),
    payload=PayloadPlan(sizes=(SizeShare(message_bytes=100, weight=1),)),
    window_limit=400,
)
PHASES = PhasesPlan(warm_up_s=1, measure_s=1, drain_limit_s=1)


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


def started(plan: CellPlan, directory: Path, broker: Broker = BROKER) -> AbstractContextManager[Cluster]:
    """A cluster of ours, ready; gone afterwards, data and all."""
    return started_cluster(broker, plan, directory)


def assert_acknowledged(cluster: Cluster, destination: str, level: Durability, partitions: int) -> None:
    """A hundred messages at this level, each of them acknowledged."""
    plan = agent(
        Role.PRODUCER, cluster.endpoint(), (destination,), durability=level, partitions=partitions, driver="auto"
    )
    producer = BROKER.producer(plan, 0)
    assert set(publish(producer, 100, partitions=partitions).values()) == {ACKNOWLEDGED}
    producer.close(soon())
