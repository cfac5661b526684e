"""Small loads on RabbitMQ clusters of ours: cells and plans. Messages are those of `numbered_load`."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numbered_load
from numbered_load import consume as consume
from numbered_load import numbers as numbers
from numbered_load import soon, started_cluster

from brokerlab.brokers.contract import Broker, Cluster, Producer
from brokerlab.brokers.rabbitmq.broker import CLASSIC, QUORUM, STREAM
from brokerlab.model import plan as model
from brokerlab.model.blocks import Block

BROKERS: dict[str, Broker] = {"classic": CLASSIC, "quorum": QUORUM, "stream": STREAM}
PARTITIONS = 2
GROUP = "g"
WINDOW = 1234
PRODUCERS = model.ProducersPlan(
    count=1,
    agents=1,
    schedule=model.SchedulePlan(arrival="closed", window=WINDOW),
    payload=model.PayloadPlan(sizes=(model.SizeShare(message_bytes=100, weight=1),)),
)
PHASES = model.PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=30)


def cell(kind: str, nodes: int = 1, **changes: Any) -> model.CellPlan:
    values: dict[str, Any] = {
        "cell": "c01",
        "label": "test",
        "broker": f"rabbitmq-{kind}",
        "nodes": nodes,
        "durability": BROKERS[kind].capabilities.durability_levels[nodes][0],
        "destinations": 1,
        "partitions": PARTITIONS,
        "producers": PRODUCERS,
        "consumers": model.ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
        "phases": PHASES,
        "parameters": {},
        "broker_settings": {},
        "client_settings": {},
    }
    return model.CellPlan(**{**values, **changes})


def agent(kind: str, role: str, endpoint: model.Endpoint, destination: str, **changes: Any) -> model.AgentPlan:
    values: dict[str, Any] = {
        "run": "test",
        "cell": "c01",
        "repeat": 1,
        "agent": f"{role}-1",
        "run_tag": 1,
        "role": role,
        "broker": f"rabbitmq-{kind}",
        "driver": "python",
        "endpoint": endpoint,
        "destinations": (destination,),
        "partitions": PARTITIONS,
        "members": (0,),
        "producers_in_cell": 1,
        "group": GROUP if role == "consumer" else None,
        "producers": PRODUCERS,
        "consumers": model.ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
        "phases": PHASES,
        "client_settings": {},
        "durability": model.Durability.L4,
        "evidence_directory": "unused",
        "seed": 1,
    }
    return model.AgentPlan(**{**values, **changes})


def block(first_index: int, count: int, message_bytes: int = 100) -> Block:
    """Messages whose first eight bytes are their number, in turn to the partitions."""
    return numbered_load.block(first_index, count, message_bytes, PARTITIONS)


def settle(producer: Producer, outcomes: dict[int, int], count: int) -> dict[str, int]:
    """Until so many have settled; counts of error kinds."""
    until, errors = soon(), {}
    while len(outcomes) < count:
        assert time.monotonic_ns() < until, f"{len(outcomes)} of {count} settled"
        settled = producer.settled()
        for index, outcome in zip(settled.indices.tolist(), settled.outcomes.tolist(), strict=True):
            assert index not in outcomes, f"{index} settled twice"
            outcomes[index] = outcome
        for error, times in settled.errors.items():
            errors[error] = errors.get(error, 0) + times
        time.sleep(0.001)
    return errors


def publish(producer: Producer, count: int, first: int = 0) -> dict[int, int]:
    """Send so many numbered messages and wait for the outcome of each."""
    sent, outcomes, until = 0, {}, soon()
    while sent < count:
        assert time.monotonic_ns() < until, f"{sent} of {count} taken"
        sent += producer.send(block(first + sent, min(300, count - sent)))
        settled = producer.settled()
        outcomes |= dict(zip(settled.indices.tolist(), settled.outcomes.tolist(), strict=True))
        time.sleep(0.001)
    settle(producer, outcomes, count)
    return outcomes


def started(plan: model.CellPlan, directory: Path) -> AbstractContextManager[Cluster]:
    """A cluster of ours, ready; gone afterwards, data and all."""
    return started_cluster(BROKERS[plan.broker.rpartition("-")[2]], plan, directory)


def processes_of(directory: Path) -> list[int]:
    """Every process whose environment, command or working directory names this directory: none but those of its cluster."""
    wanted, found = str(directory).encode(), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            told = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended meanwhile, or is not ours
        if wanted in told:
            found.append(int(entry.name))
    return found


def wait_until_gone(directory: Path) -> None:
    until = soon()
    while left := processes_of(directory):
        assert time.monotonic_ns() < until, f"still there: {left}"
        time.sleep(0.05)


def commands(directory: Path) -> list[str]:
    """The command lines of those processes."""
    found = []
    for pid in processes_of(directory):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found
