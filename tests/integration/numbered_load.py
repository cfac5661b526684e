"""Small loads of numbered messages, for clusters of ours: blocks, loops that end, and the clusters themselves."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from brokerlab.brokers.contract import Broker, Cluster, Consumer
from brokerlab.install.cache import silent
from brokerlab.model.blocks import Block, Deliveries
from brokerlab.model.plan import CellPlan


def soon(minutes: float = 4) -> int:
    return time.monotonic_ns() + int(minutes * 60e9)


def block(first_index: int, count: int, message_bytes: int = 100, partitions: int = 4) -> Block:
    """Messages whose first eight bytes are their number, in turn to the partitions."""
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
    return [int.from_bytes(ctypes.string_at(a, 8), "little") for a in deliveries.addresses.tolist()]


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
def started_cluster(broker: Broker, cell: CellPlan, directory: Path) -> Iterator[Cluster]:
    """Ready; gone afterwards, data and all."""
    assert broker.problems(cell) == []
    assert broker.install(silent).runs_here
    cluster = broker.cluster(cell, directory / "data", directory / "logs")
    try:
        cluster.start()
        cluster.wait_ready(soon())
        yield cluster
    finally:
        cluster.stop()
        cluster.clean()
