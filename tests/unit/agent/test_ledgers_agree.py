"""The C and the numpy way give identical evidence on the same input, whatever the input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerlab.agent.ledger import ConsumerLedger, LedgerShape, ProducerLedger, Rows
from brokerlab.agent.ledger_numpy import NumpyConsumerLedger, NumpyProducerLedger
from brokerlab.model.blocks import Deliveries, Settlements
from brokerlab.model.header import HEADER, HEADER_BYTES, MAGIC, VERSION, checksum
from brokerlab.native import library, why_not

pytestmark = pytest.mark.skipif(library() is None, reason=f"no C library to compare with: {why_not()}")

OFFSET_NS = 1_700_000_000_123_456_789
MEASURE_FROM_NS = 3_400_000_000
SHAPE = LedgerShape(producers=3, destinations=2, partitions=2, run_tag=77, ring_size=1 << 10, keep_messages=True)


def native_producer() -> ProducerLedger:
    from brokerlab.agent.ledger_native import NativeProducerLedger

    return NativeProducerLedger(SHAPE)


def native_consumer() -> ConsumerLedger:
    from brokerlab.agent.ledger_native import NativeConsumerLedger

    return NativeConsumerLedger(SHAPE)


def plain(rows: Rows) -> dict[str, Any]:
    """Rows as comparable values; the order of rows says nothing, so it is taken out."""
    intervals = sorted(
        (
            r.second,
            r.destination,
            r.phase,
            tuple(r.counters.items()),
            tuple(
                (m, h.bucket.tolist(), h.count.tolist(), h.min_ns, h.max_ns, h.sum_ns) for m, h in r.histograms.items()
            ),
        )
        for r in rows.intervals
    )
    return {
        "intervals": intervals,
        "ranges": sorted(rows.ranges.tolist()),
        "messages": sorted(rows.messages.tolist()),
    }


def produce(ledger: ProducerLedger, seed: int) -> list[dict[str, Any]]:
    """A random life of a producer: blocks, out-of-order settlements of all outcomes, timeouts, late settlements."""
    random = np.random.default_rng(seed)
    ledger.start(OFFSET_NS, MEASURE_FROM_NS)
    pattern = random.integers(0, 4, 37).astype(np.int32)
    next_sequence = np.zeros(4, np.int64)
    index, now, open_messages, taken = 0, 0, [], []
    for _ in range(30):
        n = int(random.integers(1, 30))
        scheduled = np.sort(now + random.integers(0, 400_000_000, n)).astype(np.int64)
        ledger.due(index, scheduled, pattern)
        partitions = pattern[(index + np.arange(n)) % len(pattern)]
        sequences = np.empty(n, np.int64)
        for i, p in enumerate(partitions.tolist()):
            sequences[i] = next_sequence[p]
            next_sequence[p] += 1
        # Handed over before it was scheduled: negatives. But hand-overs follow each other on one monotonic clock.
        now = max(now, int(scheduled[-1]) + int(random.integers(-200_000_000, 1_000_000)))
        ledger.sent(index, scheduled, partitions, sequences, np.full(n, 100, np.int32), now)
        open_messages += range(index, index + n)
        index += n
        random.shuffle(open_messages)
        k = int(random.integers(0, len(open_messages) + 1))
        settled, open_messages = open_messages[:k], open_messages[k:]
        if settled and random.random() < 0.3:
            settled.append(settled[0])  # a client that says something twice
        at = now + random.integers(0, 3_000_000_000, len(settled)).astype(np.int64)
        outcomes = random.choice(3, len(settled), p=[0.8, 0.1, 0.1]).astype(np.uint8)
        ledger.settled(Settlements(np.array(settled, np.int64), outcomes, at))
        if random.random() < 0.2:
            ledger.expire(now - 100_000_000, now)
        if random.random() < 0.3:
            taken.append(plain(ledger.take()))
    ledger.expire(1 << 62, now)
    return [*taken, plain(ledger.take()), {"totals": ledger.totals(), "room": ledger.room()}]


def a_message(random: np.random.Generator) -> bytes:
    """Mostly ours and intact; sometimes damaged anywhere, cut, of another run, or not one of ours at all."""
    size = int(random.integers(HEADER_BYTES, 90))
    message = bytearray(random.bytes(size))
    header = np.zeros(1, HEADER)
    header["magic"], header["version"], header["run_tag"], header["length"] = MAGIC, VERSION, 77, size
    header["producer"], header["partition"] = random.integers(0, 3), random.integers(0, 4)
    header["sequence"], header["scheduled_mono_ns"] = random.integers(0, 12), random.integers(0, 6_000_000_000)
    header["sent_mono_ns"] = header["scheduled_mono_ns"] + random.integers(-1000, 1_000_000_000)
    kind = random.random()
    if kind < 0.05:
        header["run_tag"] = 78
    elif kind < 0.08:
        header["producer"] = 9
    elif kind < 0.1:
        header["partition"] = 99
    message[:HEADER_BYTES] = header.tobytes()
    message[32:40] = checksum(bytes(message)).to_bytes(8, "little")
    if kind > 0.93:
        message[int(random.integers(0, size))] ^= int(random.integers(1, 256))
    elif kind > 0.9:
        del message[int(random.integers(0, size)) :]
    elif kind > 0.88:
        message = bytearray(random.bytes(int(random.integers(0, 60))))
    return bytes(message)


def consume(ledger: ConsumerLedger, seed: int) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    ledger.start(OFFSET_NS, MEASURE_FROM_NS)
    taken, now = [], 1_000_000_000
    for epoch in range(12):
        payloads = [a_message(random) for _ in range(int(random.integers(0, 60)))]
        now += int(random.integers(0, 700_000_000))
        n = len(payloads)
        positions = random.integers(0, 1000, n).astype(np.int64)
        redelivered = (random.random(n) < 0.1).astype(np.uint8)
        ledger.received(Deliveries.from_payloads(payloads, now, positions, redelivered), epoch // 5)
        if random.random() < 0.3:
            taken.append(plain(ledger.take()))
    return [*taken, plain(ledger.take()), {"totals": ledger.totals(), "highest": ledger.highest().tolist()}]


@given(st.integers(0, 1 << 32))
@settings(max_examples=60, deadline=None)
def test_producer_ledgers_give_the_same_evidence(seed: int) -> None:
    assert produce(native_producer(), seed) == produce(NumpyProducerLedger(SHAPE), seed)


@given(st.integers(0, 1 << 32))
@settings(max_examples=60, deadline=None)
def test_consumer_ledgers_give_the_same_evidence(seed: int) -> None:
    assert consume(native_consumer(), seed) == consume(NumpyConsumerLedger(SHAPE), seed)


def test_the_random_inputs_exercise_every_class() -> None:
    """Guards the two tests above: an input without damage would compare nothing."""
    totals = [consume(NumpyConsumerLedger(SHAPE), seed)[-1]["totals"] for seed in range(5)]
    assert all(sum(getattr(t, name) for t in totals) > 0 for name in ("received", "corrupted", "unexpected"))
    made = [produce(NumpyProducerLedger(SHAPE), seed)[-1]["totals"] for seed in range(5)]
    assert all(
        sum(getattr(t, n) for t in made) > 0 for n in ("acknowledged", "rejected", "unknown", "late_settlements")
    )
