"""A capped link: the cap by arithmetic and over real sockets, what it counts, and what it does when a side ends."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.machine.link import BURST_S, Bucket, passed_bytes

RATE = 5_000_000


@given(st.lists(st.tuples(st.integers(1, 65_536), st.floats(0, 0.1)), min_size=1, max_size=60))
def test_no_stretch_of_time_lets_more_pass_than_the_cap_and_the_burst(pieces: list[tuple[int, float]]) -> None:
    now = [0.0]
    bucket = Bucket(RATE, clock=lambda: now[0])
    passed: list[tuple[float, int]] = []
    for count, silence_s in pieces:
        now[0] += silence_s
        now[0] += bucket.wait_s(count)
        passed.append((now[0], count))
    for first, (begin, _) in enumerate(passed):
        total = 0
        for at, count in passed[first:]:
            total += count
            assert total <= RATE * (at - begin + BURST_S) + passed[first][1] + 1e-3


def test_a_bucket_that_is_never_idle_lets_exactly_the_cap_pass() -> None:
    now = [0.0]
    bucket = Bucket(RATE, clock=lambda: now[0])
    for _ in range(1000):
        now[0] += bucket.wait_s(10_000)
    assert now[0] == pytest.approx(1000 * 10_000 / RATE, rel=0.01)


class EchoNode:
    """A node that sends everything back, until the client says that no more comes."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._echo, args=(connection,), daemon=True).start()

    def _echo(self, connection: socket.socket) -> None:
        with connection:
            while got := connection.recv(65_536):
                connection.sendall(got)

    def close(self) -> None:
        self._listener.close()


class RunningLink:
    def __init__(self, tmp_path: Path, node_port: int) -> None:
        self.counts = tmp_path / "counts"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "brokerlab.machine.link", "--listen", str(self.port), "--node", str(node_port)]
        self.process = subprocess.Popen([*command, "--bytes-per-s", str(RATE), "--counts", str(self.counts)])
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with contextlib.suppress(ConnectionRefusedError):
                self.connect().close()
                return
            time.sleep(0.05)
        raise AssertionError("the link does not listen")

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)


@pytest.fixture(scope="module")
def node() -> Iterator[EchoNode]:
    made = EchoNode()
    yield made
    made.close()


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory, node: EchoNode) -> Iterator[RunningLink]:
    made = RunningLink(tmp_path_factory.mktemp("link"), node.port)
    yield made
    made.process.kill()
    made.process.wait()


def test_bytes_arrive_whole_not_faster_than_the_cap_and_are_counted(link: RunningLink) -> None:
    before = passed_bytes(link.counts)
    sent = bytes(range(256)) * 8192  # 2 MiB: 0.4 s each way at this cap, at the same time
    began = time.monotonic()
    with link.connect() as client:
        threading.Thread(target=lambda: (client.sendall(sent), client.shutdown(socket.SHUT_WR)), daemon=True).start()
        received = bytearray()
        while got := client.recv(1 << 20):
            received += got
    elapsed = time.monotonic() - began
    assert received == sent
    assert len(sent) / elapsed <= RATE * 1.1
    assert [b - a for a, b in zip(before, passed_bytes(link.counts), strict=True)] == [len(sent), len(sent)]


def test_connections_share_the_cap(link: RunningLink) -> None:
    sent = bytes(500_000)
    began = time.monotonic()
    with link.connect() as one, link.connect() as other:
        threads = [threading.Thread(target=c.sendall, args=(sent,), daemon=True) for c in (one, other)]
        for thread in threads:
            thread.start()
        for client in (one, other):
            left = len(sent)
            while left:
                left -= len(client.recv(left))
    assert 2 * len(sent) / (time.monotonic() - began) <= RATE * 1.1


def test_a_client_of_a_node_that_is_gone_is_told_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    lonely = RunningLink(tmp_path, port)
    try:
        with lonely.connect() as client:
            assert client.recv(1) == b""
    finally:
        lonely.process.kill()
        lonely.process.wait()
