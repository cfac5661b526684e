"""Ticks in C with a client that has to be watched: it works when its socket has something, and between ticks."""

from __future__ import annotations

import ctypes
import select
import socket
import threading
import time
from collections.abc import Iterator
from ctypes import CFUNCTYPE, POINTER, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_senders_agree import SIZES, agent_plan

from brokerlab.agent.sender_native import NativeSender, NativeTicks, sender
from brokerlab.brokers.contract import NativeCalls
from brokerlab.model.plan import ProducersPlan, SchedulePlan
from brokerlab.native import library, why_not

pytestmark = pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")

MS, SECOND = 1_000_000, 1_000_000_000


class PollFd(ctypes.Structure):
    _fields_ = (("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short))


class WatchedClient:
    """Every byte on its socket acknowledges the oldest open message."""

    path = "watched"

    def __init__(self) -> None:
        self.peer, self._socket = socket.socketpair()
        self._socket.setblocking(False)
        self.open: list[int] = []
        self.acknowledged: list[int] = []
        self.worked_at_ns: list[int] = []
        self.sent_at_ns: list[int] = []
        self.wake_ns = 1 << 62

    def native_calls(self) -> NativeCalls:
        def send(_c: int, _buffer: int, _o: int, _l: int, _p: int, _k: int, first: int, n: int) -> int:
            self.open += range(first, first + n)
            self.sent_at_ns.append(time.monotonic_ns())
            return n

        def settled(_c: int, indices: Any, codes: Any, at_ns: Any, most: int) -> int:
            self.worked_at_ns.append(time.monotonic_ns())
            if self.wake_ns <= self.worked_at_ns[-1]:
                self.wake_ns = 1 << 62
            try:
                for _ in self._socket.recv(1000):
                    self.acknowledged.append(self.open.pop(0))
            except BlockingIOError:
                pass
            told, self.acknowledged = self.acknowledged[:most], self.acknowledged[most:]
            for n, index in enumerate(told):
                indices[n], codes[n], at_ns[n] = index, 0, time.monotonic_ns()
            return len(told)

        def watch(_c: int, to: Any, _most: int, wake_ns: Any) -> int:
            to[0] = PollFd(self._socket.fileno(), select.POLLIN, 0)
            wake_ns[0] = self.wake_ns
            return 1

        self.kept = (
            CFUNCTYPE(c_int64, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_int64, c_int64)(send),
            CFUNCTYPE(c_int64, c_void_p, POINTER(c_int64), POINTER(c_int32), POINTER(c_int64), c_int64)(settled),
            CFUNCTYPE(c_int64, c_void_p, POINTER(PollFd), c_int64, POINTER(c_int64))(watch),
        )
        of_send, of_settled, of_watch = (int(ctypes.cast(f, c_void_p).value or 0) for f in self.kept)
        return NativeCalls(0, of_send, of_settled, watch=of_watch, judged=lambda codes: (np.zeros_like(codes), {}))

    def close(self, deadline_mono_ns: int) -> None:  # noqa: ARG002
        self.peer.close()
        self._socket.close()


@pytest.fixture
def client() -> Iterator[WatchedClient]:
    made = WatchedClient()
    yield made
    made.close(0)


def begun(client: WatchedClient, schedule: SchedulePlan, tmp_path: Path) -> tuple[NativeSender, NativeTicks]:
    plan = agent_plan(ProducersPlan(count=1, agents=1, schedule=schedule, payload=SIZES), tmp_path)
    made = sender(plan, 0, client)  # type: ignore[arg-type]
    assert isinstance(made, NativeSender)
    made.begin(time.monotonic_ns(), 0)
    return made, NativeTicks([made])


def test_an_idle_client_is_not_asked_more_often_than_the_idle_time_says(client: WatchedClient, tmp_path: Path) -> None:
    _, ticks = begun(client, SchedulePlan(rate_per_s=2), tmp_path)
    now = time.monotonic_ns()
    after = ticks.run(now, now + 100 * MS)
    assert now + 100 * MS <= after
    assert ticks.count <= 101


def test_what_comes_between_ticks_is_received_at_once_and_settled_by_the_next(
    client: WatchedClient, tmp_path: Path
) -> None:
    made, ticks = begun(client, SchedulePlan(rate_per_s=100), tmp_path)
    threading.Timer(0.1, client.peer.send, [b"12"]).start()
    now = time.monotonic_ns()
    while not client.worked_at_ns or len(client.open) + 2 > made.state.index:
        now = ticks.run(now, now + 50 * MS)
    ticks.run(now, now + 20 * MS)
    assert made.state.in_flight == made.state.index - 2


def test_the_clients_own_time_is_kept(client: WatchedClient, tmp_path: Path) -> None:
    _, ticks = begun(client, SchedulePlan(rate_per_s=0.001), tmp_path)
    now = time.monotonic_ns()
    client.wake_ns = now + 20 * MS + 300_000  # within an idle sleep of a millisecond
    wanted = client.wake_ns
    ticks.run(now, now + 40 * MS)
    assert any(wanted <= at for at in client.worked_at_ns)
    assert client.wake_ns > wanted, "it had its turn"


def test_in_a_closed_loop_an_answer_makes_room_at_once(client: WatchedClient, tmp_path: Path) -> None:
    made, ticks = begun(client, SchedulePlan(arrival="closed", window=8), tmp_path)
    stop = time.monotonic_ns() + 60 * SECOND
    now = ticks.run(time.monotonic_ns(), time.monotonic_ns() + MS)
    assert made.state.in_flight == 8
    for _ in range(200):
        client.peer.send(b"x")
        now = ticks.run(now, now + MS)
    while made.state.index < 208 and now < stop:
        now = ticks.run(now, now + MS)
    assert made.state.index == 208
    assert made.state.in_flight == 8
