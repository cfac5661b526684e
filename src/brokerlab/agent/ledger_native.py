"""The ledgers in C, through ctypes."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int64, c_void_p
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerlab.agent.ledger import (
    COUNTERS,
    MESSAGE_ROW,
    NO_SAMPLES,
    OUTCOME_ROW,
    SEQUENCE_ROW,
    ConsumerTotals,
    HistogramRow,
    IntervalRow,
    LedgerShape,
    ProducerTotals,
    Rows,
)
from brokerlab.model.blocks import Deliveries, Int32s, Int64s, Settlements
from brokerlab.model.header import HEADER_BYTES
from brokerlab.model.histogram import BUCKETS
from brokerlab.model.metrics import MEASURES
from brokerlab.native.border import border
from brokerlab.native.loader import address, copied, library, shape
from brokerlab.native.producing import REPORTS_MOST


def _need_library() -> ctypes.CDLL:
    lib = library()
    if lib is None:
        raise RuntimeError("the native ledger was asked for without the library")
    _check_shape()
    return lib


@cache
def _check_shape() -> None:
    """What C writes into our arrays must be what they have room for. Raises RuntimeError."""
    ours = {
        "header_bytes": HEADER_BYTES,
        "counters": len(COUNTERS),
        "measures": len(MEASURES),
        "buckets": BUCKETS,
        "reports_most": REPORTS_MOST,
    }
    theirs = shape()
    if differing := [f"{name} is {theirs[name]} in C and {n} here" for name, n in ours.items() if theirs[name] != n]:
        raise RuntimeError(", ".join(differing))
    for name, row in (("outcome", OUTCOME_ROW), ("sequence", SEQUENCE_ROW), ("message", MESSAGE_ROW)):
        if _columns(np.dtype(border().structures[f"bl_{name}_row"])) != _columns(row):
            raise RuntimeError(f"bl_{name}_row is laid out otherwise in C: {row}")


def _columns(row: np.dtype[Any]) -> list[tuple[np.dtype[Any], int]]:
    """Kind and place of every column; names differ where the evidence has its own."""
    assert row.fields is not None
    return [(kind, offset) for kind, offset, *_ in row.fields.values()]


class _Intervals:
    """Reads a ledger's interval slots; a C ledger begins with them."""

    def __init__(self, lib: ctypes.CDLL, handle: int) -> None:
        self._lib = lib
        self._handle = handle
        self._identity = np.zeros(3, np.int64)
        self._counters = np.zeros(len(COUNTERS), np.int64)
        self._buckets = np.zeros(len(MEASURES) * BUCKETS, np.int32)
        self._counts = np.zeros(len(MEASURES) * BUCKETS, np.int64)
        self._shape = np.zeros(4 * len(MEASURES), np.int64)
        self._pointers = [
            address(a) for a in (self._identity, self._counters, self._buckets, self._counts, self._shape)
        ]

    def rows(self) -> list[IntervalRow]:
        rows = []
        for i in range(self._lib.bl_slots(self._handle)):
            self._lib.bl_slot_copy(self._handle, i, *self._pointers)
            second, destination, phase = self._identity.tolist()
            counters = dict(zip(COUNTERS, self._counters.tolist(), strict=True))
            histograms = {name: self._histogram(m) for m, name in enumerate(MEASURES)}
            rows.append(IntervalRow(second, destination, phase, counters, histograms))
        return rows

    def _histogram(self, measure: int) -> HistogramRow:
        n, low, high, total = self._shape[4 * measure : 4 * measure + 4].tolist()
        if n == 0:
            return NO_SAMPLES
        at = measure * BUCKETS
        return HistogramRow(self._buckets[at : at + n].copy(), self._counts[at : at + n].copy(), low, high, total)


def _rows(lib_function: Any, handle: int, dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    ranges, messages, n_ranges, n_messages = c_void_p(), c_void_p(), c_int64(), c_int64()
    lib_function(handle, byref(ranges), byref(n_ranges), byref(messages), byref(n_messages))
    return copied(ranges.value, n_ranges.value, dtype), copied(messages.value, n_messages.value, MESSAGE_ROW)


class NativeProducerLedger:
    def __init__(self, shape: LedgerShape) -> None:
        self._lib = _need_library()
        lanes = shape.destinations * shape.partitions
        self.handle = self._lib.bl_producer_ledger_new(lanes, shape.partitions, shape.ring_size, shape.keep_messages)
        self._intervals = _Intervals(self._lib, self.handle)
        self._totals = np.zeros(7, np.int64)
        self._totals_at = address(self._totals)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self._lib.bl_producer_ledger_free(self.handle)

    def start(self, unix_minus_mono_ns: int, measure_from_ns: int) -> None:
        self._lib.bl_ledger_start(self.handle, unix_minus_mono_ns, measure_from_ns)

    def due(self, first_index: int, scheduled_ns: Int64s, partition_pattern: Int32s) -> None:
        pattern = (address(partition_pattern), len(partition_pattern))
        self._lib.bl_due(self.handle, address(scheduled_ns), *pattern, first_index, len(scheduled_ns))

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
        self._lib.bl_sent(
            self.handle,
            first_index,
            address(scheduled_ns),
            address(partitions),
            address(sequences),
            address(lengths),
            handed_ns,
            free_since_ns,
            len(scheduled_ns),
        )

    def settled(self, settlements: Settlements) -> int:
        return int(
            self._lib.bl_settled(
                self.handle,
                address(settlements.indices),
                address(settlements.outcomes),
                address(settlements.at_mono_ns),
                len(settlements),
            )
        )

    def expire(self, sent_before_ns: int, now_ns: int) -> int:
        return int(self._lib.bl_expire(self.handle, sent_before_ns, now_ns))

    def room(self) -> int:
        return int(self._lib.bl_room(self.handle))

    def totals(self) -> ProducerTotals:
        self._lib.bl_producer_totals(self.handle, self._totals_at)
        return ProducerTotals(*self._totals.tolist())

    def take(self) -> Rows:
        ranges, messages = _rows(self._lib.bl_producer_rows, self.handle, OUTCOME_ROW)
        rows = Rows(self._intervals.rows(), ranges, messages)
        self._lib.bl_producer_clear(self.handle)
        return rows


class NativeConsumerLedger:
    def __init__(self, shape: LedgerShape) -> None:
        self._lib = _need_library()
        self._lanes = shape.producers * shape.destinations * shape.partitions
        self._handle = self._lib.bl_consumer_ledger_new(
            shape.run_tag, shape.producers, shape.destinations, shape.partitions, shape.keep_messages
        )
        self._intervals = _Intervals(self._lib, self._handle)
        self._totals = np.zeros(4, np.int64)
        self._totals_at = address(self._totals)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._lib.bl_consumer_ledger_free(self._handle)

    def start(self, unix_minus_mono_ns: int, measure_from_ns: int) -> None:
        self._lib.bl_ledger_start(self._handle, unix_minus_mono_ns, measure_from_ns)

    def received(self, deliveries: Deliveries, epoch: int) -> None:
        self._lib.bl_received(
            self._handle,
            address(deliveries.addresses),
            address(deliveries.lengths),
            address(deliveries.positions),
            address(deliveries.redelivered),
            len(deliveries),
            deliveries.arrived_mono_ns,
            epoch,
        )

    def totals(self) -> ConsumerTotals:
        self._lib.bl_consumer_totals(self._handle, self._totals_at)
        return ConsumerTotals(*self._totals.tolist())

    def highest(self) -> Int64s:
        return copied(self._lib.bl_highest(self._handle), self._lanes, np.dtype(np.int64))

    def take(self) -> Rows:
        runs, messages = _rows(self._lib.bl_consumer_rows, self._handle, SEQUENCE_ROW)
        rows = Rows(self._intervals.rows(), runs, messages)
        self._lib.bl_consumer_clear(self._handle)
        return rows
