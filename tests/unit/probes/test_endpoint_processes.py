from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokerlab.model.environment import ClockPair
from brokerlab.model.plan import Endpoint
from brokerlab.probes.endpoint import listening_processes, loopback_ports
from brokerlab.probes.plan import ProbePlan
from brokerlab.probes.sampler import LocalProbes


def test_only_loopback_addresses_are_looked_for() -> None:
    assert loopback_ports(["127.0.0.1:9092", "broker.example:9093", "localhost:9094", "[::1]:9095", "127.0.0.1"]) == [
        9092, 9094, 9095,
    ]  # fmt: skip


@pytest.fixture
def listening_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_the_process_that_listens_is_found_once(listening_port: int) -> None:
    address = f"127.0.0.1:{listening_port}"
    assert listening_processes([address, address]) == [os.getpid()]


def test_a_port_nobody_listens_on_finds_nobody() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, not listening
        assert listening_processes([f"127.0.0.1:{held.getsockname()[1]}"]) == []


def test_a_broker_the_user_runs_here_is_watched_like_a_node(tmp_path: Path, listening_port: int) -> None:
    plan = ProbePlan(
        run="r",
        cell="c01",
        repeat=1,
        broker="kafka",
        endpoint=Endpoint(addresses=(f"127.0.0.1:{listening_port}",)),
        directory=str(tmp_path),
        addresses=(f"127.0.0.1:{listening_port}",),
        clock=ClockPair(mono_ns=0, unix_ns=0),
    )
    sample = LocalProbes(plan, os.getppid()).read(time.monotonic_ns())
    assert "process:kafka-1" in {r.subject for r in sample.readings}
