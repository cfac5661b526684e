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

from brokerlab.brokers.memory.cluster import MemoryAdmin, MemoryCluster
from brokerlab.brokers.memory.connection import connect
from brokerlab.brokers.memory.protocol import PUBLISH, PUBLISH_HEAD, SETTLED, SETTLED_RANGE, frame
from brokerlab.errors import BrokerDiedError, BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED


def deadline() -> int:
    return time.monotonic_ns() + 60_000_000_000


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MemoryCluster]:
    sizes = ["--retain-bytes", "1000", "--limit-bytes", "2000"]
    made = MemoryCluster("memory", "brokerlab.brokers.memory.server", sizes, tmp_path / "data", tmp_path / "logs")
    made.start()
    try:
        made.wait_ready(deadline())
        yield made
    finally:
        made.stop()


def publish(cluster: MemoryCluster, size: int) -> int:
    """One message; its outcome."""
    connection = connect(cluster.endpoint(), ("d",), 1)
    try:
        columns = np.array([size, 0], "<i4").tobytes()
        connection.write(frame(PUBLISH, PUBLISH_HEAD.pack(0, 1), columns, bytes(size)))
        until = deadline()
        while time.monotonic_ns() < until:
            connection.wait(1.0)
            for kind, body in connection.frames():
                if kind == SETTLED:
                    return int(np.frombuffer(body, SETTLED_RANGE)["outcome"][0])
    finally:
        connection.close()
    raise AssertionError("no answer")


def test_a_full_server_refuses_definitely(cluster: MemoryCluster) -> None:
    MemoryAdmin(cluster.endpoint()).create(("d",), 1, ("g",))
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
    MemoryAdmin(cluster.endpoint()).create(("d",), 1, ())
    assert publish(cluster, 10) == ACKNOWLEDGED


def test_a_destination_that_does_not_exist_is_refused_with_what_to_do(cluster: MemoryCluster) -> None:
    with pytest.raises(BrokerError, match=r"(?s)no destination is called 'e'.*create the destination"):
        connect(cluster.endpoint(), ("e",), 1)


def test_a_server_that_cannot_start_is_reported_with_its_last_words(tmp_path: Path) -> None:
    bad = MemoryCluster("memory", "brokerlab.brokers.memory.server", ["--nonsense"], tmp_path / "d", tmp_path / "l")
    bad.start()
    try:
        with pytest.raises(BrokerDiedError, match="--retain-bytes"):
            bad.wait_ready(deadline())
    finally:
        bad.stop()
