"""The memory server as a process: what the contract suite does not ask for."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from brokerlab.brokers.memory.admin import MemoryAdmin
from brokerlab.brokers.memory.cluster import MemoryCluster
from brokerlab.brokers.memory.connection import MemoryLink
from brokerlab.brokers.memory.protocol import PUBLISH, PUBLISH_HEAD, SETTLED, SETTLED_RANGE, frame
from brokerlab.errors import BrokerDiedError, BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED
from brokerlab.model.plan import (
    CellPlan,
    ConsumersPlan,
    Durability,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    SchedulePlan,
)


def deadline() -> int:
    return time.monotonic_ns() + 60_000_000_000


CELL = CellPlan(
    cell="c01",
    label="",
    broker="memory",
    nodes=1,
    durability=Durability.L4,
    destinations=1,
    partitions=1,
    producers=ProducersPlan(count=1, agents=1, schedule=SchedulePlan(rate_per_s=1), payload=PayloadPlan()),
    consumers=ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
    phases=PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=1),
    parameters={},
    broker_settings={},
    client_settings={},
)


class SmallCluster(MemoryCluster):
    @staticmethod
    def arguments(cell: CellPlan) -> list[str]:  # noqa: ARG004
        return ["--retain-bytes", "1000", "--limit-bytes", "2000"]


class CannotStart(MemoryCluster):
    @staticmethod
    def arguments(cell: CellPlan) -> list[str]:  # noqa: ARG004
        return ["--nonsense"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MemoryCluster]:
    made = SmallCluster(CELL, None, tmp_path / "data", tmp_path / "logs")
    made.start()
    try:
        made.wait_ready(deadline())
        yield made
    finally:
        made.stop()


def publish(cluster: MemoryCluster, size: int) -> int:
    """One message; its outcome."""
    link = MemoryLink.open(cluster.endpoint(), "test")
    outcomes: list[int] = []
    link.on_frame = lambda kind, body: (
        outcomes.append(int(np.frombuffer(body, SETTLED_RANGE)["outcome"][0])) if kind == SETTLED else None
    )
    try:
        link.subscribe(("d",), 1)
        columns = np.array([size, 0], "<i4").tobytes()
        link.write(frame(PUBLISH, PUBLISH_HEAD.pack(0, 1), columns, bytes(size)))
        until = deadline()
        while not outcomes:
            assert time.monotonic_ns() < until, "no answer"
            link.wait(1.0)
            link.pump()
    finally:
        link.abandon()
    return outcomes[0]


def test_a_full_server_refuses_definitely(cluster: MemoryCluster) -> None:
    MemoryAdmin(cluster.endpoint(), CELL).create(("d",), 1, ("g",))
    assert publish(cluster, 2500) == ACKNOWLEDGED
    assert publish(cluster, 10) == REJECTED


def test_a_client_that_talks_nonsense_harms_only_itself(cluster: MemoryCluster) -> None:
    host, _, port = cluster.endpoint().addresses[0].rpartition(":")
    for nonsense in (
        b"GET / HTTP/1.1\r\n\r\n" * 10,
        struct.pack("<IB", 4, 99) + b"abcd",
        struct.pack("<IB", 2, 1) + b"[]",
    ):
        with socket.create_connection((host, int(port)), 10) as s:
            s.sendall(nonsense)
            s.settimeout(60)
            with contextlib.suppress(ConnectionResetError):
                assert s.recv(100) == b"", "the server hangs up"
    MemoryAdmin(cluster.endpoint(), CELL).create(("d",), 1, ())
    assert publish(cluster, 10) == ACKNOWLEDGED


def test_a_destination_that_does_not_exist_is_refused_with_what_to_do(cluster: MemoryCluster) -> None:
    with pytest.raises(BrokerError, match=r"(?s)no destination is called 'e'.*create the destination"):
        MemoryLink.open(cluster.endpoint(), "test").subscribe(("e",), 1)


def test_a_server_that_cannot_start_is_reported_with_its_last_words(tmp_path: Path) -> None:
    bad = CannotStart(CELL, None, tmp_path / "d", tmp_path / "l")
    bad.start()
    try:
        with pytest.raises(BrokerDiedError, match="--retain-bytes"):
            bad.wait_ready(deadline())
    finally:
        bad.stop()
