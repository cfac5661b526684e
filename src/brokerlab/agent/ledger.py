"""What one producer or consumer remembers between two writings of evidence: counters, histograms, ranges, runs.

Two implementations give identical rows on the same input: C (`ledger_native`, about 20 ns a message) and numpy
(`ledger_numpy`, for machines without a compiler). Everything is counted by the second and phase of the *scheduled* time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from brokerlab.model.blocks import Deliveries, Int32s, Int64s, Settlements
from brokerlab.native import library

COUNTERS = (
    "due", "sent", "acknowledged", "rejected", "unknown", "received", "redelivered", "bytes", "negative",
    "negative_from_send",
)  # fmt: skip
OUTCOME_WORDS = ("acknowledged", "rejected", "unknown", "sent")

OUTCOME_ROW = np.dtype([("partition", "<i4"), ("outcome", "<i4"), ("first", "<i8"), ("last", "<i8")])
SEQUENCE_ROW = np.dtype(
    [
        ("producer", "<i4"), ("partition", "<i4"), ("epoch", "<i4"), ("pad", "<i4"),
        ("first", "<i8"), ("last", "<i8"), ("first_mono_ns", "<i8"), ("last_mono_ns", "<i8"),
        ("ordinal", "<i8"), ("redelivered", "<i8"), ("first_position", "<i8"), ("last_position", "<i8"),
    ]
)  # fmt: skip
MESSAGE_ROW = np.dtype(
    [
        ("producer", "<i4"), ("partition", "<i4"), ("outcome", "<i4"), ("pad", "<i4"),
        ("sequence", "<i8"), ("scheduled_mono_ns", "<i8"), ("at_mono_ns", "<i8"), ("ordinal", "<i8"),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class HistogramRow:
    bucket: Int32s
    count: Int64s
    min_ns: int
    max_ns: int
    sum_ns: int


NO_SAMPLES = HistogramRow(np.empty(0, np.int32), np.empty(0, np.int64), 0, 0, 0)


@dataclass(frozen=True)
class IntervalRow:
    """One second of one phase of one destination; `phase` is 0 for warm-up, 1 for measure."""

    second: int
    destination: int
    phase: int
    counters: dict[str, int]
    histograms: dict[str, HistogramRow]


@dataclass(frozen=True)
class Rows:
    """What a ledger gives up when evidence is written; it starts from nothing afterwards."""

    intervals: list[IntervalRow]
    ranges: npt.NDArray[Any]  # OUTCOME_ROW (producer) or SEQUENCE_ROW (consumer)
    messages: npt.NDArray[Any]


class ProducerTotals(NamedTuple):
    """Since the beginning, but for `in_flight`, which is now."""

    acknowledged: int
    rejected: int
    unknown: int
    sent: int
    bytes: int
    in_flight: int
    late_settlements: int


class ConsumerTotals(NamedTuple):
    received: int
    corrupted: int
    unexpected: int
    bytes: int


def lateness_ns(scheduled_ns: Int64s, handed_ns: int, free_since_ns: int) -> Int64s:
    """How late we ourselves were with each message: since it was due, or since the client last took fewer than were due.
    While a client's buffer is full or its connection is lost, the wait is not ours."""
    late: Int64s = handed_ns - np.maximum(scheduled_ns, free_since_ns)
    return late


class ProducerLedger(Protocol):
    def start(self, unix_minus_mono_ns: int, measure_from_ns: int) -> None:
        """Before the first message: how the clocks relate, and when the measure phase begins (monotonic)."""

    def due(self, first_index: int, scheduled_ns: Int64s, partition_pattern: Int32s) -> None:
        """The schedule made these due, whether or not the client takes them. Message i has pattern[i % len]."""

    def sent(
        self,
        first_index: int,
        scheduled_ns: Int64s,
        partitions: Int32s,
        sequences: Int64s,
        lengths: Int32s,
        handed_ns: int,
        free_since_ns: int = 0,
    ) -> None:
        """The client took these, handed over at `handed_ns`; it last took fewer than were due at `free_since_ns`. Message
        numbers go up by one without gaps."""

    def settled(self, settlements: Settlements) -> int:
        """What the client learnt; returns how many were open. A message that was given up before stays unknown."""

    def expire(self, sent_before_ns: int, now_ns: int) -> int:
        """Give up what was handed over before that time and has not settled: unknown. Returns how many."""

    def room(self) -> int:
        """How many more messages fit before the oldest unsettled one must go."""

    def totals(self) -> ProducerTotals: ...

    def take(self) -> Rows: ...


class ConsumerLedger(Protocol):
    def start(self, unix_minus_mono_ns: int, measure_from_ns: int) -> None: ...

    def received(self, deliveries: Deliveries, epoch: int) -> None:
        """Check, classify, time and number these deliveries, in arrival order."""

    def totals(self) -> ConsumerTotals: ...

    def highest(self) -> Int64s:
        """Highest sequence seen of each lane (producer x partitions + partition), -1 before the first."""

    def take(self) -> Rows: ...


@dataclass(frozen=True)
class LedgerShape:
    """Sizes a ledger is made for. `partitions` is per destination."""

    producers: int
    destinations: int
    partitions: int
    run_tag: int = 0
    ring_size: int = 1 << 17  # power of two
    keep_messages: bool = field(default=False)


def producer_ledger(shape: LedgerShape) -> ProducerLedger:
    """The C ledger where the library is there, else the numpy one."""
    if library() is not None:
        from brokerlab.agent.ledger_native import NativeProducerLedger

        return NativeProducerLedger(shape)
    from brokerlab.agent.ledger_numpy import NumpyProducerLedger

    return NumpyProducerLedger(shape)


def consumer_ledger(shape: LedgerShape) -> ConsumerLedger:
    if library() is not None:
        from brokerlab.agent.ledger_native import NativeConsumerLedger

        return NativeConsumerLedger(shape)
    from brokerlab.agent.ledger_numpy import NumpyConsumerLedger

    return NumpyConsumerLedger(shape)


def ring_size(window_limit: int, rate_per_s: float | None, send_timeout_s: float) -> int:
    """A power of two that holds the window and, open loop, everything sent until a silent message is given up."""
    wanted = 2 * window_limit
    if rate_per_s is not None:
        wanted = max(wanted, int(rate_per_s * (send_timeout_s + 5)))
    return 1 << min(max(wanted, 1 << 16).bit_length(), 22)
