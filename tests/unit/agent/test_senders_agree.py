"""The tick in C and the tick in Python do the same to any client: same bytes, same outcomes, same counts."""

from __future__ import annotations

import ctypes
import time
from ctypes import CFUNCTYPE, POINTER, c_int32, c_int64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from brokerlab.agent.closed_loop import batch_sizes
from brokerlab.agent.ledger import Rows
from brokerlab.agent.sender import BEHIND_MOST, NEVER_NS, Sender
from brokerlab.agent.sender_native import NativeSender, sender
from brokerlab.agent.stamp import BLOCK_MOST
from brokerlab.brokers.contract import NativeCalls
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN, Block, Settlements
from brokerlab.model.header import CHECKSUM_WORD, HEADER, HEADER_BYTES, SENT_WORD
from brokerlab.model.plan import (
    AgentPlan,
    Durability,
    Endpoint,
    KeysPlan,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    Role,
    SchedulePlan,
    SizeShare,
)
from brokerlab.native import library, why_not

pytestmark = pytest.mark.skipif(library() is None, reason=f"no C library to compare with: {why_not()}")

AHEAD_NS = 10**18  # far ahead of the real clock, at which messages are sent: the send timeout passes at once
BEHIND_NS = 10**9  # long before it
OFFSET_NS = 1_700_000_000_000_000_000
REFUSED, LOST, ODD = -1, -2, 77
OUTCOMES = {0: ACKNOWLEDGED, REFUSED: REJECTED, LOST: UNKNOWN, ODD: UNKNOWN}


@dataclass
class Client:
    """Holds at most `room` messages; message i settles `1 + i % 5` ticks after it was taken, in reverse order, every
    thirteenth with an error and every hundredth never."""

    room: int
    tick: int = 0
    path: str = "scripted"
    taken: dict[int, tuple[bytes, int, bytes | None]] = field(default_factory=dict)
    open: dict[int, int] = field(default_factory=dict)
    most_open: int = 0

    def accept(self, index: int, payload: bytes, partition: int, key: bytes | None) -> bool:
        if len(self.open) >= self.room:
            return False
        assert index not in self.taken
        self.taken[index] = (payload, partition, key)
        self.open[index] = self.tick + 1 + index % 5
        self.most_open = max(self.most_open, len(self.open))
        return True

    def ready(self) -> list[tuple[int, int]]:
        """(index, code) of what settles now."""
        now = [i for i, at in self.open.items() if at <= self.tick and i % 100 != 99]
        for i in now:
            del self.open[i]
        return [(i, (REFUSED, LOST, ODD)[i % 3] if i % 13 == 12 else 0) for i in reversed(now)]

    def forget_the_silent(self) -> None:
        self.open.clear()

    def close(self, deadline_mono_ns: int) -> None: ...


class PythonClient(Client):
    def send(self, block: Block) -> int:
        for i, payload in enumerate(block.payloads()):
            key = None if block.keys is None else int(block.keys[i]).to_bytes(4, "big")
            if not self.accept(block.first_index + i, payload, int(block.partitions[i]), key):
                return i
        return len(block)

    def settled(self) -> Settlements:
        ready = self.ready()
        outcomes, kinds = judged(np.array([c for _, c in ready], np.int64))
        return Settlements(
            np.array([i for i, _ in ready], np.int64), outcomes, np.full(len(ready), AHEAD_NS, np.int64), kinds
        )


class CClient(PythonClient):
    def native_calls(self) -> NativeCalls:
        def send(_c: int, buffer: int, offsets: Any, lengths: Any, partitions: Any, keys: int, first: int, n: int) -> int:  # fmt: skip
            for i in range(n):
                payload = ctypes.string_at(buffer + offsets[i], lengths[i])
                key = ctypes.string_at(keys + 4 * i, 4) if keys else None
                if not self.accept(first + i, payload, partitions[i], key):
                    return i
            return n

        def settled(_c: int, indices: Any, codes: Any, at_ns: Any, _most: int) -> int:
            ready = self.ready()
            for n, (i, code) in enumerate(ready):
                indices[n], codes[n], at_ns[n] = i, code, AHEAD_NS
            return len(ready)

        i64, i32 = POINTER(c_int64), POINTER(c_int32)
        kinds = CFUNCTYPE(c_int64, c_void_p, c_void_p, i64, i32, i32, c_void_p, c_int64, c_int64)
        self.kept = (kinds(send), CFUNCTYPE(c_int64, c_void_p, i64, i32, i64, c_int64)(settled))
        pointers = [int(ctypes.cast(f, c_void_p).value or 0) for f in self.kept]
        return NativeCalls(0, *pointers, judged=judged)


def judged(codes: Any) -> tuple[Any, dict[str, int]]:
    values = codes.tolist()
    kinds = {f"code {c}": values.count(c) for c in set(values) - {0}}
    return np.array([OUTCOMES[c] for c in values], np.uint8), kinds


def agent_plan(producers: ProducersPlan, tmp_path: Path) -> AgentPlan:
    return AgentPlan(
        run="r", cell="c01", repeat=1, agent="producer-1", run_tag=9, role=Role.PRODUCER, broker="scripted",
        driver="auto", endpoint=Endpoint(addresses=()), destinations=("a", "b"), partitions=3, members=(0,),
        producers_in_cell=1, group=None, producers=producers, consumers=None,
        phases=PhasesPlan(warm_up_s=0.5, measure_s=1.5, drain_limit_s=0), client_settings={},
        durability=Durability.L4, evidence_directory=str(tmp_path), seed=3,
    )  # fmt: skip


def life(of: Sender, client: Client, start_ns: int = AHEAD_NS) -> dict[str, Any]:
    """Every tick of the two seconds and what is known at the end."""
    of.begin(start_ns, OFFSET_NS)
    for tick in range(2_300):
        client.tick = tick
        of.step(start_ns + tick * 1_000_000, NEVER_NS)
    of.end_sending()
    assert of.note_the_unsent(NEVER_NS)
    client.forget_the_silent()
    of.finish(start_ns + 3_000_000_000)
    rows = of.take()
    of.close(0)
    counters = ("due", "sent", "acknowledged", "rejected", "unknown", "bytes")
    totals = {name: sum(r.counters[name] for r in rows.intervals) for name in counters}
    by_second = sorted((r.second, r.destination, r.phase, *(r.counters[n] for n in counters)) for r in rows.intervals)
    return {
        "taken": {i: (_without_the_clock(payload), *where) for i, (payload, *where) in client.taken.items()},
        "totals": totals,
        "by_second": by_second,
        "ranges": sorted(rows.ranges.tolist()),
        "errors": of.take_errors(),
        "settled": of.is_settled(),
        "buffer_full": of.state.buffer_full > 0,
    }


def worked(of: Sender, client: Client, start_ns: int) -> Rows:
    """Some hundred ticks of the real clock."""
    of.begin(start_ns, OFFSET_NS)
    for tick in range(400):
        client.tick = tick
        of.step(time.monotonic_ns(), NEVER_NS)
    client.forget_the_silent()
    of.finish(time.monotonic_ns())
    rows = of.take()
    of.close(0)
    return rows


def headers_of(client: Client) -> Any:
    """Of all messages taken, by number."""
    return np.frombuffer(b"".join(client.taken[i][0][:HEADER_BYTES] for i in sorted(client.taken)), HEADER)


def _without_the_clock(payload: bytes) -> bytes:
    """What depends on the time of handing over is the real clock's: that time and the checksum over it."""
    return payload[: 8 * CHECKSUM_WORD] + payload[8 * (SENT_WORD + 1) :]


def compare(producers: ProducersPlan, room: int, tmp_path: Path) -> dict[str, Any]:
    plan = agent_plan(producers, tmp_path)
    plain, native = PythonClient(room), CClient(room)
    in_c = sender(plan, 0, native)
    assert isinstance(in_c, NativeSender)
    ours, theirs = life(Sender(plan, 0, plain), plain), life(in_c, native)
    for aspect in ours:
        assert theirs[aspect] == ours[aspect], aspect
    return ours


SIZES = PayloadPlan(sizes=(SizeShare(message_bytes=60, weight=1), SizeShare(message_bytes=111, weight=2)))


@pytest.mark.parametrize("arrival", ["uniform", "poisson"])
@pytest.mark.parametrize("room", [20, 100_000])
def test_open_loop(tmp_path: Path, arrival: Any, room: int) -> None:
    schedule = SchedulePlan(arrival=arrival, rate_per_s=7_000)
    life = compare(ProducersPlan(count=1, agents=1, schedule=schedule, payload=SIZES, send_timeout_s=1), room, tmp_path)
    assert life["totals"]["due"] == pytest.approx(14_000, rel=0.1)
    assert life["buffer_full"] == (room == 20)
    assert life["totals"]["rejected"] > 0
    assert life["errors"]["no answer within the send timeout"] > 0
    assert life["settled"]


@pytest.mark.parametrize("arrival", ["uniform", "poisson"])
def test_behind_a_client_that_takes_nothing_only_grows_beyond_the_due_times_kept(tmp_path: Path, arrival: Any) -> None:
    schedule = SchedulePlan(arrival=arrival, rate_per_s=10_000_000)
    plan = agent_plan(ProducersPlan(count=1, agents=1, schedule=schedule, payload=SIZES), tmp_path)
    in_c = sender(plan, 0, CClient(room=0))
    assert isinstance(in_c, NativeSender)
    told = []
    for made in (Sender(plan, 0, PythonClient(room=0)), in_c):
        made.begin(AHEAD_NS, OFFSET_NS)
        behind = []
        for tick in range(0, 2_200, 50):
            now_ns = AHEAD_NS + tick * 1_000_000
            made.step(now_ns, NEVER_NS)
            behind.append(made.behind(now_ns))
        made.close(0)
        told.append(behind)
    assert told[0] == told[1]
    assert told[0] == sorted(told[0])
    assert told[0] == pytest.approx([min(10_000 * tick, 20_000_000) for tick in range(0, 2_200, 50)], rel=0.01, abs=1)
    assert told[0][-1] > 4 * BEHIND_MOST


def test_open_loop_with_keys_and_a_file_read_while_sending(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("".join(f"{'x' * (i % 90)}{i}\n" for i in range(120_000)))
    payload = PayloadPlan(kind="lines", path=str(lines), read_in_ram=False)
    producers = ProducersPlan(
        count=1, agents=1, schedule=SchedulePlan(rate_per_s=60_000), payload=payload, keys=KeysPlan(count=50)
    )
    life = compare(producers, 100_000, tmp_path)
    assert life["totals"]["sent"] == 120_000
    assert {key for _, _, key in life["taken"].values()} == {k.to_bytes(4, "big") for k in range(50)}


@pytest.mark.parametrize("room", [20, 100_000])
def test_open_loop_with_a_number_of_messages(tmp_path: Path, room: int) -> None:
    """3,500 are due in the warm-up, which counts for nothing."""
    producers = ProducersPlan(
        count=1, agents=1, schedule=SchedulePlan(rate_per_s=7_000), payload=SIZES, send_timeout_s=1, messages=5_000
    )
    life = compare(producers, room, tmp_path)
    assert life["totals"]["due"] == 8_500
    if room > 20:
        assert life["totals"]["sent"] == 8_500


class AnswersAll:
    """Of a Client: no message is silent or fails."""

    def ready(self: Any) -> list[tuple[int, int]]:
        now = [i for i, at in self.open.items() if at <= self.tick]
        for i in now:
            del self.open[i]
        return [(i, 0) for i in now]


class AnsweringPythonClient(AnswersAll, PythonClient): ...


class AnsweringCClient(AnswersAll, CClient): ...


def closed_plan(messages: int, window: int, tmp_path: Path) -> AgentPlan:
    """Half a second of warm-up; the limit of measure is never reached."""
    schedule = SchedulePlan(arrival="closed", window=window)
    producers = ProducersPlan(count=1, agents=1, schedule=schedule, payload=SIZES, messages=messages)
    phases = PhasesPlan(warm_up_s=0.5, measure_s=600, drain_limit_s=0)
    return agent_plan(producers, tmp_path).model_copy(update={"phases": phases})


@pytest.mark.parametrize(("messages", "window"), [(5_000, 400), (7, 400), (2_000, 1), (1, 1)])
@pytest.mark.parametrize("client_class", [AnsweringPythonClient, AnsweringCClient])
def test_a_closed_loop_ends_with_its_number_of_messages(
    tmp_path: Path, client_class: type[PythonClient], messages: int, window: int
) -> None:
    client = client_class(10_000)
    of = sender(closed_plan(messages, window, tmp_path), 0, client)
    of.begin(time.monotonic_ns() - 600_000_000, OFFSET_NS)
    while not of.has_sent_its_number():
        assert not of.has_sent_all(time.monotonic_ns())
        assert client.tick < 1_000_000
        client.tick += 1
        of.step(time.monotonic_ns(), NEVER_NS)
    assert of.has_sent_all(time.monotonic_ns())
    for _ in range(10):
        client.tick += 1
        of.step(time.monotonic_ns(), NEVER_NS)
    assert of.is_settled()
    assert len(client.taken) == of.totals().acknowledged == messages
    assert client.most_open <= window
    of.close(0)


@pytest.mark.parametrize("room", [4, 10_000])
@pytest.mark.parametrize("client_class", [AnsweringPythonClient, AnsweringCClient])
def test_a_batch_is_sent_whole_and_the_next_when_all_of_it_has_settled(
    tmp_path: Path, client_class: type[PythonClient], room: int
) -> None:
    """A client that takes 4 at a time gets a batch of up to 10 in parts."""
    plan = closed_plan(2_000, 10, tmp_path)
    assert plan.producers is not None
    schedule = plan.producers.schedule.model_copy(update={"batch_least": 3})
    plan = plan.model_copy(update={"producers": plan.producers.model_copy(update={"schedule": schedule})})
    client = client_class(room)
    of = sender(plan, 0, client)
    of.begin(time.monotonic_ns() - 600_000_000, OFFSET_NS)
    sizes = batch_sizes(schedule, plan.seed, 0)
    assert sizes is not None
    assert set(sizes.tolist()) == set(range(3, 11))
    begins = np.concatenate([[0], sizes.cumsum()])
    while not of.has_sent_its_number():
        client.tick += 1
        of.step(time.monotonic_ns(), NEVER_NS)
        assert not client.open or min(client.open) >= begins[of.state.batch_at - 1], "of one batch only"
    assert of.state.batch_at == int(begins.searchsorted(2_000))
    assert len(client.taken) == 2_000
    assert client.most_open == min(room, 10)
    of.close(0)


@pytest.mark.parametrize("client_class", [AnsweringPythonClient, AnsweringCClient])
def test_the_warm_up_of_a_closed_loop_does_not_count(tmp_path: Path, client_class: type[PythonClient]) -> None:
    client = client_class(1000)
    of = sender(closed_plan(120, 50, tmp_path), 0, client)
    start_ns = time.monotonic_ns()
    of.begin(start_ns, OFFSET_NS)
    while not of.has_sent_its_number():
        client.tick += 1
        of.step(time.monotonic_ns(), time.monotonic_ns())
    measured = headers_of(client)["scheduled_mono_ns"] >= start_ns + 500_000_000
    assert int(measured.sum()) == 120
    assert int((~measured).sum()) > 120
    of.close(0)


@pytest.mark.parametrize("client_class", [PythonClient, CClient])
def test_in_a_closed_loop_a_message_is_scheduled_when_it_is_handed_over(
    tmp_path: Path, client_class: type[PythonClient]
) -> None:
    schedule = SchedulePlan(arrival="closed", window=400)
    plan = agent_plan(ProducersPlan(count=1, agents=1, schedule=schedule, payload=SIZES), tmp_path)
    client = client_class(1000)
    rows = worked(sender(plan, 0, client), client, time.monotonic_ns())
    headers = headers_of(client)
    assert len(headers) >= 400
    assert np.array_equal(headers["scheduled_mono_ns"], headers["sent_mono_ns"])
    for row in rows.intervals:
        whole, from_send = (row.histograms[m] for m in ("publish_latency", "publish_latency_from_send"))
        assert whole.bucket.tolist() == from_send.bucket.tolist()
        assert whole.count.tolist() == from_send.count.tolist()
        assert (whole.min_ns, whole.max_ns, whole.sum_ns) == (from_send.min_ns, from_send.max_ns, from_send.sum_ns)
        assert row.histograms["send_delay"].max_ns == 0


@pytest.mark.parametrize("client_class", [PythonClient, CClient])
def test_a_wait_for_the_client_is_not_our_lateness(tmp_path: Path, client_class: type[PythonClient]) -> None:
    """Everything is due at once, 2.5 s ago. The first offer is late by that; a client that takes 20 at a time refuses most
    offers, and from then on lateness counts from the refusal."""
    plan = agent_plan(
        ProducersPlan(count=1, agents=1, schedule=SchedulePlan(rate_per_s=7_000), payload=SIZES), tmp_path
    )
    client = client_class(20)
    began_ns = time.monotonic_ns()
    rows = worked(sender(plan, 0, client), client, began_ns - 2_500_000_000)
    took_ns = time.monotonic_ns() - began_ns
    headers = headers_of(client)
    late_ns = headers["sent_mono_ns"] - headers["scheduled_mono_ns"]
    assert (late_ns >= 0).all()
    assert late_ns[0] >= 2_499_000_000, "until the first refusal it is ours"
    assert late_ns[20:].max() <= took_ns, "after it only the time since a refusal is"
    delays = [row.histograms["send_delay"] for row in rows.intervals]
    assert sum(d.sum_ns for d in delays) == int(late_ns.sum())
    assert sum(int(d.count.sum()) for d in delays) == len(headers)


def test_a_client_that_takes_most_of_a_large_block_is_never_offered_a_larger_one(tmp_path: Path) -> None:
    """What it takes doubles the next offer, up to a block and no further: arrays have room for no more."""
    schedule = SchedulePlan(rate_per_s=1_000_000)
    plan = agent_plan(ProducersPlan(count=1, agents=1, schedule=schedule, payload=SIZES), tmp_path)
    offered: list[int] = []

    class TakesMost(PythonClient):
        def send(self, block: Block) -> int:
            offered.append(len(block))
            return super().send(block)

    client = TakesMost(BLOCK_MOST - 1)
    worked(sender(plan, 0, client), client, time.monotonic_ns() - 2_500_000_000)
    assert max(offered) == BLOCK_MOST
    assert len(headers_of(client)) == len({(h["partition"], h["sequence"]) for h in headers_of(client)})


def test_closed_loop_keeps_its_window(tmp_path: Path) -> None:
    schedule = SchedulePlan(arrival="closed", window=400)
    plan = agent_plan(ProducersPlan(count=1, agents=1, schedule=schedule, payload=SIZES, send_timeout_s=10), tmp_path)
    client = CClient(1000)
    made = life(sender(plan, 0, client), client, BEHIND_NS)
    assert made["totals"]["due"] == made["totals"]["sent"] > 10_000
    assert made["settled"]
    assert client.most_open == 400
    # Outcomes are those of the script, message by message, whoever ticked.
    silent = sum(i % 100 == 99 for i in client.taken)
    wrong = [i for i in client.taken if i % 13 == 12 and i % 100 != 99]
    assert made["totals"]["rejected"] == sum(i % 3 == 0 for i in wrong)
    assert made["totals"]["unknown"] == silent + sum(i % 3 != 0 for i in wrong)
