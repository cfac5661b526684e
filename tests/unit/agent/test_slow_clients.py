"""A client that takes long for every block delays its agent by one block, not by a window or a backlog of them."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_senders_agree import SIZES, agent_plan

from brokerlab.agent.pacer import sleeper
from brokerlab.agent.sender import Sender
from brokerlab.agent.sender_native import NativeSender, NativeTicks, sender
from brokerlab.agent.ticks import PythonTicks, Ticks
from brokerlab.brokers.contract import NativeCalls
from brokerlab.model.blocks import REJECTED, Block, Settlements
from brokerlab.model.plan import ProducersPlan, SchedulePlan
from brokerlab.native import library, why_not

MS = 1_000_000
BLOCK_NS = 20 * MS
TURN_NS = 50 * MS
IN_TIME = 3  # blocks that can begin within a turn: at its beginning, after 20 and after 40 ms
STOP_AFTER = 60  # blocks in one turn, after which the client takes nothing: a sender without an end fails, not hangs
CLOSED = SchedulePlan(arrival="closed", window=10_000)  # more than two blocks
OPEN = SchedulePlan(rate_per_s=1_000_000)


class SlowClient:
    """Every block takes its time, and settles at once; with `rejects` as an error that must be judged."""

    path = "slow"

    def __init__(self, *, rejects: bool = False) -> None:
        self.rejects = rejects
        self.begun_ns: list[int] = []  # when each block of this turn was handed over
        self._open: list[int] = []

    def take(self, first: int, n: int) -> int:
        if len(self.begun_ns) == STOP_AFTER:
            return 0
        self.begun_ns.append(time.monotonic_ns())
        time.sleep(BLOCK_NS / 1e9)
        self._open += range(first, first + n)
        return n

    def settle(self, most: int) -> list[int]:
        told, self._open = self._open[:most], self._open[most:]
        return told

    def send(self, block: Block) -> int:
        return self.take(block.first_index, len(block))

    def settled(self) -> Settlements:
        told = np.array(self.settle(1 << 30), np.int64)
        now = np.full(len(told), time.monotonic_ns(), np.int64)
        return Settlements(told, np.full(len(told), REJECTED if self.rejects else 0, np.uint8), now, {})

    def close(self, deadline_mono_ns: int) -> None: ...


class SlowCClient(SlowClient):
    def native_calls(self) -> NativeCalls:
        def send(_c: int, _b: int, _o: int, _l: int, _p: int, _k: int, first: int, n: int) -> int:
            return self.take(first, n)

        def settled(_c: int, indices: Any, codes: Any, at_ns: Any, most: int) -> int:
            told = self.settle(most)
            for n, index in enumerate(told):
                indices[n], codes[n], at_ns[n] = index, int(self.rejects), 0
            return len(told)

        def judged(codes: Any) -> tuple[Any, dict[str, int]]:
            return np.where(codes == 0, 0, REJECTED).astype(np.uint8), {}

        i64, i32 = POINTER(c_int64), POINTER(c_int32)
        self.kept = (
            CFUNCTYPE(c_int64, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_int64, c_int64)(send),
            CFUNCTYPE(c_int64, c_void_p, i64, i32, i64, c_int64)(settled),
        )
        pointers = [int(ctypes.cast(f, c_void_p).value or 0) for f in self.kept]
        return NativeCalls(0, *pointers, judged=judged)


Made = tuple[Sender, SlowClient, Ticks]


def python_sender(schedule: SchedulePlan, tmp_path: Path, *, rejects: bool) -> Made:
    client = SlowClient(rejects=rejects)
    plan = agent_plan(ProducersPlan(count=1, agents=1, schedule=schedule, payload=SIZES), tmp_path)
    made = Sender(plan, 0, client)
    return made, client, PythonTicks([made], sleeper())


def native_sender(schedule: SchedulePlan, tmp_path: Path, *, rejects: bool) -> Made:
    if library() is None:
        pytest.skip(f"no C library: {why_not()}")
    client = SlowCClient(rejects=rejects)
    plan = agent_plan(ProducersPlan(count=1, agents=1, schedule=schedule, payload=SIZES), tmp_path)
    made = sender(plan, 0, client)
    assert isinstance(made, NativeSender)
    return made, client, NativeTicks([made])


IN_BOTH = pytest.mark.parametrize("making", [python_sender, native_sender], ids=["python", "c"])
WITH_ANY_SCHEDULE = pytest.mark.parametrize("schedule", [CLOSED, OPEN], ids=["closed", "open"])
Making = Callable[..., Made]


@IN_BOTH
@WITH_ANY_SCHEDULE
@pytest.mark.parametrize("rejects", [False, True], ids=["acknowledged", "rejected"])
def test_a_turn_of_a_slow_client_ends_in_time(
    making: Making, schedule: SchedulePlan, rejects: bool, tmp_path: Path
) -> None:
    made, client, ticks = making(schedule, tmp_path, rejects=rejects)
    made.begin(time.monotonic_ns() - 500 * MS, 0)  # in the open loop half a million are due
    for _ in range(3):
        client.begun_ns.clear()
        now = time.monotonic_ns()
        ticks.run(now, now + TURN_NS)
        assert len(client.begun_ns) <= IN_TIME
    assert made.state.index > 0


@IN_BOTH
@WITH_ANY_SCHEDULE
def test_a_slow_client_is_given_nothing_after_the_end(making: Making, schedule: SchedulePlan, tmp_path: Path) -> None:
    made, client, ticks = making(schedule, tmp_path, rejects=False)
    made.begin(time.monotonic_ns() - 1_900 * MS, 0)  # of two seconds
    now = time.monotonic_ns()
    while not made.has_sent_all(now):
        client.begun_ns.clear()
        now = ticks.run(now, now + TURN_NS)
        assert len(client.begun_ns) <= IN_TIME
    made.end_sending()
    client.begun_ns.clear()
    ticks.run(now, now + TURN_NS)
    assert client.begun_ns == []


@IN_BOTH
def test_what_was_never_sent_is_counted_in_parts(making: Making, tmp_path: Path) -> None:
    made, _, _ = making(OPEN, tmp_path, rejects=False)
    made.begin(time.monotonic_ns() - 3_000 * MS, 0)
    made.end_sending()
    parts = 1
    while not made.note_the_unsent(0):
        parts += 1
    assert parts > 2
    assert sum(row.counters["due"] for row in made.take().intervals) == 2_000_000
