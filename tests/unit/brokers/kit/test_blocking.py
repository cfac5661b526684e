"""Producers whose library blocks: nothing waits for it, every message settles once, in order."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from brokerlab.brokers.kit.blocking import Batch, BlockingProducer, Told, Worker
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN, Block, Settlements

PATIENCE_S = 60.0


def block(first_index: int, sizes: list[int], partition: int = 0) -> Block:
    lengths = np.array(sizes, np.int32)
    buffer = np.full(sum(sizes) + 8, ord("x"), np.uint8)
    offsets = np.zeros(len(sizes), np.int64)
    np.cumsum(lengths[:-1], out=offsets[1:])
    return Block(buffer, offsets, lengths, np.full(len(sizes), partition, np.int32), first_index)


class Slow(BlockingProducer):
    """Publishes when it is let."""

    def __init__(self, batch_messages: int = 10, batch_bytes: int = 100) -> None:
        self.go = threading.Event()
        self.published: list[Batch] = []
        self.disconnected = threading.Event()
        super().__init__("slow", batch_messages, batch_bytes, partitions=1)

    def _publish(self, number: int, batch: Batch) -> list[Told]:  # noqa: ARG002
        assert self.go.wait(PATIENCE_S)
        self.published.append(batch)
        if b"bad" in batch.payloads:
            raise ConnectionError("gone")
        return [batch.told(ACKNOWLEDGED)]

    def _disconnect(self) -> None:
        self.disconnected.set()

    def all_settled(self, count: int) -> list[Settlements]:
        found: list[Settlements] = []
        until = time.monotonic() + PATIENCE_S
        while sum(map(len, found)) < count:
            assert time.monotonic() < until
            found.append(self.settled())
        return found


def within(seconds: float = PATIENCE_S) -> int:
    return time.monotonic_ns() + int(seconds * 1e9)


def test_what_is_offered_while_a_batch_is_on_its_way_goes_into_the_next() -> None:
    producer = Slow()
    assert producer.send(block(0, [10])) == 1
    until = time.monotonic() + PATIENCE_S
    taken = 0
    while taken < 5:  # until the thread has taken the first batch, the next is the same
        taken += producer.send(block(1 + taken, [10] * (5 - taken)))
        assert time.monotonic() < until
    assert len(producer.settled()) == 0
    producer.go.set()
    settled = producer.all_settled(6)
    assert np.concatenate([s.indices for s in settled]).tolist() == list(range(6))
    assert set(np.concatenate([s.outcomes for s in settled]).tolist()) == {ACKNOWLEDGED}
    assert sum(map(len, producer.published)) == 6
    producer.close(within())
    assert producer.disconnected.wait(PATIENCE_S)


def test_a_full_batch_takes_no_more_and_a_large_message_goes_alone() -> None:
    producer = Slow(batch_messages=3, batch_bytes=100)
    assert producer.send(block(0, [500])) == 1
    until = time.monotonic() + PATIENCE_S
    while producer.send(block(1, [10])) == 0:  # the thread takes the large one first
        assert time.monotonic() < until
    assert producer.send(block(2, [500])) == 0
    assert producer.send(block(2, [10] * 9)) == 2
    assert producer.send(block(4, [10])) == 0
    assert producer.send(block(4, [])) == 0
    producer.go.set()
    producer.all_settled(4)
    assert [len(batch) for batch in producer.published] == [1, 3]
    producer.close(within())
    assert producer.send(block(4, [10])) == 0


def test_an_exception_makes_the_batch_unknown_and_names_it() -> None:
    producer = Slow()
    bad = Block(
        np.frombuffer(b"bad" + bytes(8), np.uint8), *(np.array([n], t) for n, t in ((0, "i8"), (3, "i4"), (0, "i4"))), 7
    )
    assert producer.send(bad) == 1
    producer.go.set()
    (settled,) = [s for s in producer.all_settled(1) if len(s)]
    assert (settled.indices.tolist(), settled.outcomes.tolist()) == ([7], [UNKNOWN])
    assert settled.errors == {"ConnectionError: gone": 1}
    producer.close(within())


def test_close_does_not_wait_for_a_library_that_hangs() -> None:
    producer = Slow()
    producer.send(block(0, [10]))
    begun = time.monotonic()
    producer.close(within(0.2))
    assert time.monotonic() - begun < PATIENCE_S
    producer.go.set()
    assert producer.disconnected.wait(PATIENCE_S), "the thread ends once the library answers"


def test_the_time_of_an_answer_is_the_threads() -> None:
    producer = Slow()
    producer.go.set()
    producer.send(block(0, [10]))
    until = time.monotonic() + PATIENCE_S
    while not producer._told:
        assert time.monotonic() < until
    asked_ns = time.monotonic_ns()
    assert producer.settled().at_mono_ns[0] < asked_ns
    producer.close(within())


def test_a_batch_is_divided_by_destination() -> None:
    batch = Batch()
    batch.add(block(0, [3, 4], partition=0))
    batch.add(block(2, [5], partition=3))
    batch.add(block(3, [6], partition=1))
    parts = batch.by(2)
    assert {n: (part.numbers().tolist(), part.partitions) for n, part in parts.items()} == {
        0: ([0, 1, 3], [0, 0, 1]),
        1: ([2], [3]),
    }
    assert [part.message_bytes for part in parts.values()] == [13, 5]


def test_a_worker_works_in_order_and_hands_on_what_is_raised() -> None:
    worker, seen = Worker("w"), []
    futures = [worker.submit(lambda n=n: seen.append(n)) for n in range(5)]  # type: ignore[misc]
    with pytest.raises(ZeroDivisionError):
        worker.submit(lambda: 1 / 0).result(PATIENCE_S)
    assert all(f.done() for f in futures)
    assert seen == list(range(5))
    worker.end()
