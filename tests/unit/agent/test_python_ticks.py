"""Ticks in Python: answers end a wait where messages are sparse, and are gathered where they are dense."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from select import POLLIN, POLLOUT

import numpy as np
import pytest
from test_senders_agree import SIZES, agent_plan

from brokerlab.agent.pacer import sleeper, waiter
from brokerlab.agent.sender import OFFER_LEAST, Sender
from brokerlab.agent.ticks import PythonTicks
from brokerlab.model.blocks import ACKNOWLEDGED, NOTHING_SETTLED, Block, Settlements
from brokerlab.model.plan import ProducersPlan, SchedulePlan

MS = 1_000_000


class AskedClient:
    """Every byte on its socket acknowledges the oldest open message. It must be asked."""

    path = "asked"

    def __init__(self) -> None:
        self.peer, self._socket = socket.socketpair()
        self._socket.setblocking(False)
        self.open: list[int] = []

    def send(self, block: Block) -> int:
        self.open += range(block.first_index, block.first_index + len(block))
        return len(block)

    def settled(self) -> Settlements:
        try:
            n = len(self._socket.recv(1000))
        except BlockingIOError:
            return NOTHING_SETTLED
        told, self.open = self.open[:n], self.open[n:]
        now = np.full(n, time.monotonic_ns(), np.int64)
        return Settlements(np.array(told, np.int64), np.full(n, ACKNOWLEDGED, np.uint8), now, {})

    def close(self, deadline_mono_ns: int) -> None:  # noqa: ARG002
        self.peer.close()
        self._socket.close()


class WatchedClient(AskedClient):
    """The same, watched."""

    def watched(self) -> list[tuple[int, bool]]:
        return [(self._socket.fileno(), False)]


class FullClient(AskedClient):
    """Takes messages up to its room; answers make none."""

    def __init__(self, room: int = 0) -> None:
        super().__init__()
        self.room = room
        self.offered: list[int] = []

    def send(self, block: Block) -> int:
        self.offered.append(len(block))
        taken = min(len(block), self.room)
        self.room -= taken
        self.open += range(block.first_index, block.first_index + taken)
        return taken


class WatchedFullClient(FullClient):
    unsent = False

    def watched(self) -> list[tuple[int, bool]]:
        return [(self._socket.fileno(), self.unsent)]


@pytest.fixture
def asked() -> Iterator[AskedClient]:
    client = AskedClient()
    yield client
    client.close(0)


@pytest.fixture
def watched() -> Iterator[WatchedClient]:
    client = WatchedClient()
    yield client
    client.close(0)


def begun(client: AskedClient, schedule: SchedulePlan, tmp_path: Path) -> tuple[Sender, PythonTicks]:
    plan = agent_plan(ProducersPlan(count=1, agents=1, schedule=schedule, payload=SIZES), tmp_path)
    made = Sender(plan, 0, client)
    made.begin(time.monotonic_ns(), 0)
    return made, PythonTicks([made], sleeper())


def run(ticks: PythonTicks, for_ns: int) -> None:
    now = time.monotonic_ns()
    until = now + for_ns
    while now < until:
        now = ticks.run(now, until)


def test_while_an_answer_is_awaited_a_watched_client_is_asked_only_now_and_then(
    watched: WatchedClient, tmp_path: Path
) -> None:
    sender, ticks = begun(watched, SchedulePlan(rate_per_s=20), tmp_path)
    run(ticks, 200 * MS)
    assert sender.state.in_flight > 0
    assert ticks.count <= 210, "once a millisecond, and for each message"


def test_an_answer_ends_the_wait(watched: WatchedClient, tmp_path: Path) -> None:
    sender, ticks = begun(watched, SchedulePlan(rate_per_s=20), tmp_path)
    while not sender.state.in_flight:
        run(ticks, MS)
    before = ticks.count
    watched.peer.send(b"1")
    now = time.monotonic_ns()
    ticks.run(now, now + 100 * MS)  # steps, and the answer is there; or waits, and it ends that
    ticks.run(time.monotonic_ns(), now + 100 * MS)
    assert ticks.count == before + 2
    assert sender.state.in_flight == 0


def sleep_asked_for(sender: Sender) -> int:
    """What a tick of this sender, which has just been stepped, would sleep; it does not wait for its socket."""
    asked_for = []

    def sleep_until(mono_ns: int) -> int:
        asked_for.append(mono_ns)
        return mono_ns

    now = time.monotonic_ns()
    PythonTicks([sender], sleep_until).run(now, now + 100 * MS)
    (until,) = asked_for
    return until - now


def test_a_client_that_must_be_asked_is_asked_at_every_tick(asked: AskedClient, tmp_path: Path) -> None:
    sender, ticks = begun(asked, SchedulePlan(rate_per_s=20), tmp_path)
    while not sender.state.in_flight:
        run(ticks, MS)
    assert sleep_asked_for(sender) == sender.state.tick_ns


def test_where_messages_are_dense_answers_are_gathered(watched: WatchedClient, tmp_path: Path) -> None:
    sender, ticks = begun(watched, SchedulePlan(rate_per_s=100_000), tmp_path)
    while not sender.state.in_flight:
        run(ticks, MS)
    watched.peer.send(b"1")
    assert sleep_asked_for(sender) == sender.state.tick_ns


@pytest.mark.parametrize(("window", "ends_it"), [(1, True), (64, False)])
def test_in_a_closed_loop_an_answer_ends_the_wait_where_it_makes_room(
    window: int, ends_it: bool, watched: WatchedClient, tmp_path: Path
) -> None:
    sender, ticks = begun(watched, SchedulePlan(window=window), tmp_path)
    run(ticks, 5 * MS)
    assert sender.state.in_flight == window
    assert (sender.watched() is not None) == ends_it


def test_a_wait_ends_at_its_time_or_when_a_socket_can_be_read_or_written() -> None:
    wait = waiter()
    ours, peer = socket.socketpair()
    with ours, peer:
        number = ours.fileno()
        start = time.monotonic_ns()
        assert start + 2 * MS <= wait([(number, POLLIN)], start + 2 * MS)
        assert wait([(number, POLLOUT)], time.monotonic_ns() + 60_000 * MS) < start + 30_000 * MS, (
            "it can be written to"
        )
        threading.Timer(0.05, peer.send, [b"1"]).start()
        assert wait([(number, POLLIN)], time.monotonic_ns() + 60_000 * MS) < start + 30_000 * MS, "it can be read from"


@pytest.mark.parametrize("kind", [FullClient, WatchedFullClient])
@pytest.mark.parametrize("schedule", [SchedulePlan(rate_per_s=200_000), SchedulePlan(window=1_000)])
def test_a_full_client_is_offered_little_and_not_at_every_tick(
    kind: type[FullClient], schedule: SchedulePlan, tmp_path: Path
) -> None:
    client = kind()
    sender, ticks = begun(client, schedule, tmp_path)
    begun_ns = time.monotonic_ns()
    run(ticks, 200 * MS)
    elapsed_ms = (time.monotonic_ns() - begun_ns) / MS
    client.close(0)
    assert sender.state.buffer_full > 0
    assert ticks.count <= elapsed_ms + 10, "more often than once a millisecond"
    assert max(client.offered[1:]) <= OFFER_LEAST, "stamped in vain"


def test_a_client_that_has_room_again_gets_all_that_waits(tmp_path: Path) -> None:
    client = FullClient()
    sender, ticks = begun(client, SchedulePlan(rate_per_s=100_000), tmp_path)
    run(ticks, 50 * MS)
    assert sender.behind(time.monotonic_ns()) > 1_000
    client.room = 1 << 30
    now = time.monotonic_ns()
    sender.step(now, now + 60_000 * MS)
    client.close(0)
    assert sender.behind(now) == 0
    assert not sender.is_full


def test_room_comes_when_what_is_unsent_leaves_or_an_answer_comes(tmp_path: Path) -> None:
    client = WatchedFullClient(room=1)
    sender, ticks = begun(client, SchedulePlan(window=100), tmp_path)
    run(ticks, 5 * MS)
    assert sender.is_full
    for client.unsent, events in ((True, POLLOUT), (False, POLLIN)):
        assert [found for _, found in sender.watched_for_room() or ()] == [events]
    client.close(0)


def test_one_full_client_among_several_slows_no_other(tmp_path: Path) -> None:
    plan = agent_plan(ProducersPlan(count=2, agents=1, schedule=SchedulePlan(rate_per_s=20), payload=SIZES), tmp_path)
    full, other = FullClient(), AskedClient()
    senders = [Sender(plan, number, client) for number, client in enumerate((full, other))]
    for sender in senders:
        sender.begin(time.monotonic_ns() - 500 * MS, 0)
    asked_for: list[int] = []

    def sleep_until(mono_ns: int) -> int:
        asked_for.append(mono_ns)
        return mono_ns

    now = time.monotonic_ns()
    PythonTicks(senders, sleep_until).run(now, now + 100 * MS)
    assert [sender.is_full for sender in senders] == [True, False]
    assert asked_for == [now + senders[1].state.tick_ns]
    full.close(0)
    other.close(0)
