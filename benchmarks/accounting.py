"""What our own bookkeeping costs: stamping, the producer's ledger, the consumer's check and ledger, in ns a message."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from brokerlab.agent.ledger import LedgerShape, consumer_ledger, producer_ledger
from brokerlab.agent.payload import PayloadPool
from brokerlab.agent.stamp import stamper
from brokerlab.model.blocks import Deliveries, Settlements
from brokerlab.model.plan import PayloadPlan, SizeShare
from brokerlab.native import library

BLOCK = 1000
SHAPE = LedgerShape(producers=1, destinations=1, partitions=4, run_tag=7, ring_size=1 << 16)


def _ns_a_message(work: Callable[[], None], repeats: int = 7, blocks: int = 300) -> float:
    """Median over repeats of CPU time for blocks of BLOCK messages."""
    work()
    times = []
    for _ in range(repeats):
        before = time.process_time_ns()
        for _ in range(blocks):
            work()
        times.append((time.process_time_ns() - before) / blocks / BLOCK)
    return statistics.median(times)


def _costs(size: int) -> tuple[float, float, float]:
    pool = PayloadPool(
        PayloadPlan(sizes=(SizeShare(message_bytes=size, weight=1),)), None, partitions=4, seed=1, producer=0, run_tag=7
    )
    marker = stamper(pool, 4)
    now_ns = time.monotonic_ns()
    scheduled = np.full(BLOCK, now_ns - 100_000, np.int64)
    index = 0

    def stamp() -> None:
        nonlocal index
        slot, n = pool.take(BLOCK)
        marker.stamp(slot, index, scheduled[:n], now_ns, 0)
        index += n

    ledger = producer_ledger(SHAPE)
    lanes, lengths = np.zeros(BLOCK, np.int32), np.full(BLOCK, size, np.int32)
    outcomes = np.zeros(BLOCK, np.uint8)
    sent = 0

    def settle() -> None:
        nonlocal sent
        numbers = np.arange(sent, sent + BLOCK, dtype=np.int64)
        ledger.due(sent, scheduled, lanes)
        ledger.sent(sent, scheduled, lanes, numbers, lengths, time.monotonic_ns())
        ledger.settled(Settlements(numbers, outcomes, scheduled + 1_000_000))
        sent += BLOCK

    stamp()
    slot, n = pool.take(BLOCK)
    marker.stamp(slot, index, scheduled[:n], now_ns, 0)
    payloads = [pool.buffer[o : o + size].tobytes() for o in pool.offsets[slot : slot + n].tolist()]
    arrived = Deliveries.from_payloads(payloads, time.monotonic_ns())
    receiving = consumer_ledger(SHAPE)
    return _ns_a_message(stamp), _ns_a_message(settle), _ns_a_message(lambda: receiving.received(arrived, 0))


def accounting() -> str:
    """A Markdown table."""
    way = "numpy" if library() is None else "C"
    lines = [
        f"### Accounting, {way}, blocks of {BLOCK}, ns of CPU a message",
        "",
        "| message | stamp header and checksum | sent + settled | check, time and number a delivery |",
        "|---|---|---|---|",
    ]
    for size in (100, 200, 1024):
        lines.append(f"| {size} B | " + " | ".join(f"{ns:.0f}" for ns in _costs(size)) + " |")
    return "\n".join([*lines, ""])
