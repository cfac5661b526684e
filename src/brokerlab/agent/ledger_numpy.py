"""The ledgers in numpy, for machines without a C compiler: the same rows on the same input, a few times slower."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
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
    lateness_ns,
)
from brokerlab.model.blocks import ACKNOWLEDGED, Deliveries, Int32s, Int64s, Settlements
from brokerlab.model.header import CHECKSUM_WORD, HEADER, HEADER_BYTES, MAGIC, VERSION, checksum_keys
from brokerlab.model.histogram import bucket_of
from brokerlab.model.metrics import FROM_SEND, MEASURES

SECOND_NS = 1_000_000_000
SENT, UNKNOWN = 3, 2


class _Histogram:
    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.min_ns = self.max_ns = self.sum_ns = 0

    def add(self, values_ns: Int64s) -> None:
        low, high = int(values_ns.min()), int(values_ns.max())
        self.min_ns = min(low, self.min_ns) if self.counts else low
        self.max_ns = max(high, self.max_ns) if self.counts else high
        self.sum_ns += int(values_ns.sum())
        for bucket, n in zip(*(a.tolist() for a in np.unique(bucket_of(values_ns), return_counts=True)), strict=True):
            self.counts[bucket] = self.counts.get(bucket, 0) + n

    def row(self) -> HistogramRow:
        if not self.counts:
            return NO_SAMPLES
        buckets = sorted(self.counts)
        counts = np.array([self.counts[b] for b in buckets], np.int64)
        return HistogramRow(np.array(buckets, np.int32), counts, self.min_ns, self.max_ns, self.sum_ns)


class _Intervals:
    """Counters and histograms by (second, destination, phase), in order of first use."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._unix_minus_mono_ns = 0
        self._measure_from_ns = 0
        self._slots: dict[tuple[int, int, int], tuple[dict[str, int], dict[str, _Histogram]]] = {}

    def start(self, unix_minus_mono_ns: int, measure_from_ns: int) -> None:
        self._unix_minus_mono_ns, self._measure_from_ns = unix_minus_mono_ns, measure_from_ns

    def add(
        self,
        scheduled_ns: Int64s,
        partitions: Int32s,
        counters: Mapping[str, npt.NDArray[Any]],
        samples_ns: Mapping[str, Int64s] = MappingProxyType({}),
    ) -> None:
        """Add per-message counters, and a sample of each of these measures, to the slots the messages belong to."""
        seconds = (scheduled_ns + self._unix_minus_mono_ns) // SECOND_NS
        phases = (scheduled_ns >= self._measure_from_ns).astype(np.int64)
        keys = np.stack([seconds, partitions // self._partitions, phases])
        edges = np.flatnonzero((np.diff(keys, axis=1) != 0).any(axis=0)) + 1
        for a, b in zip([0, *edges.tolist()], [*edges.tolist(), len(scheduled_ns)], strict=True):
            second, destination, phase = keys[:, a].tolist()
            count, histograms = self._slots.setdefault(
                (second, destination, phase), (dict.fromkeys(COUNTERS, 0), {m: _Histogram() for m in MEASURES})
            )
            for name, amounts in counters.items():
                count[name] += int(amounts[a:b].sum())
            for measure, values_ns in samples_ns.items():
                good = values_ns[a:b][values_ns[a:b] >= 0]
                count["negative_from_send" if measure in FROM_SEND else "negative"] += (b - a) - len(good)
                if len(good):
                    histograms[measure].add(good)

    def take(self) -> list[IntervalRow]:
        rows = [
            IntervalRow(*key, counters, {m: h.row() for m, h in histograms.items()})
            for key, (counters, histograms) in self._slots.items()
        ]
        self._slots = {}
        return rows


def _stacked(rows: list[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return np.array(rows, dtype) if rows else np.empty(0, dtype)


class NumpyProducerLedger:
    def __init__(self, shape: LedgerShape) -> None:
        self._intervals = _Intervals(shape.partitions)
        self._mask = shape.ring_size - 1
        self._scheduled = np.zeros(shape.ring_size, np.int64)
        self._handed = np.zeros(shape.ring_size, np.int64)
        self._sent = np.zeros(shape.ring_size, np.int64)  # scheduled plus our own lateness
        self._sequence = np.zeros(shape.ring_size, np.int64)
        self._partition = np.zeros(shape.ring_size, np.int32)
        self._open = np.zeros(shape.ring_size, bool)
        self._next = self._lowest_open = 0
        self._totals = dict.fromkeys(ProducerTotals._fields, 0)
        self._ranges: dict[tuple[int, int], list[int]] = {}
        self._closed: list[tuple[int, int, int, int]] = []
        self._keep = shape.keep_messages
        self._messages: list[npt.NDArray[Any]] = []

    def start(self, unix_minus_mono_ns: int, measure_from_ns: int) -> None:
        self._intervals.start(unix_minus_mono_ns, measure_from_ns)

    def due(self, first_index: int, scheduled_ns: Int64s, partition_pattern: Int32s) -> None:
        n = len(scheduled_ns)
        if n:
            partitions = partition_pattern[(first_index + np.arange(n)) % len(partition_pattern)]
            self._intervals.add(scheduled_ns, partitions, {"due": np.ones(n, np.int64)})

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
        n = len(scheduled_ns)
        if n == 0:
            return
        counters: dict[str, npt.NDArray[Any]] = {"sent": np.ones(n, np.int64), "bytes": lengths}
        late_ns = lateness_ns(scheduled_ns, handed_ns, free_since_ns)
        self._intervals.add(scheduled_ns, partitions, counters, {"send_delay": late_ns})
        slots = np.arange(first_index, first_index + n) & self._mask
        self._scheduled[slots], self._handed[slots], self._sent[slots] = scheduled_ns, handed_ns, scheduled_ns + late_ns
        self._sequence[slots], self._partition[slots], self._open[slots] = sequences, partitions, True
        self._next = first_index + n
        self._totals["in_flight"] += n
        self._totals["sent"] += n
        self._totals["bytes"] += int(lengths.sum())
        self._extend(SENT, partitions, sequences)

    def _extend(self, outcome: int, partitions: Int32s, sequences: Int64s) -> None:
        for lane, sequence in zip(partitions.tolist(), sequences.tolist(), strict=True):
            current = self._ranges.get((outcome, lane))
            if current is not None and sequence == current[1] + 1:
                current[1] = sequence
                continue
            if current is not None:
                self._closed.append((lane, outcome, *current))
            self._ranges[(outcome, lane)] = [sequence, sequence]

    def settled(self, settlements: Settlements) -> int:
        n = len(settlements)
        if n == 0:
            return 0
        slots = settlements.indices & self._mask
        known = (settlements.indices >= self._lowest_open) & (settlements.indices < self._next) & self._open[slots]
        _, first_mention = np.unique(settlements.indices, return_index=True)
        once = np.zeros(n, bool)
        once[first_mention] = True
        known &= once
        self._totals["late_settlements"] += n - int(known.sum())
        self._settle(
            settlements.indices[known], settlements.outcomes[known].astype(np.int64), settlements.at_mono_ns[known]
        )
        return int(known.sum())

    def _settle(self, indices: Int64s, outcomes: Int64s, at_ns: Int64s) -> None:
        slots = indices & self._mask
        self._open[slots] = False
        self._totals["in_flight"] -= len(indices)
        for outcome, name in enumerate(("acknowledged", "rejected", "unknown")):
            of = outcomes == outcome
            chosen = slots[of]
            if len(chosen) == 0:
                continue
            self._totals[name] += len(chosen)
            scheduled, partitions = self._scheduled[chosen], self._partition[chosen]
            measured = {
                "publish_latency": at_ns[of] - scheduled,
                "publish_latency_from_send": at_ns[of] - self._sent[chosen],
            }
            counters = {name: np.ones(len(chosen), np.int64)}
            self._intervals.add(scheduled, partitions, counters, measured if outcome == ACKNOWLEDGED else {})
            self._extend(outcome, partitions, self._sequence[chosen])
        if self._keep and len(indices):
            rows = np.zeros(len(indices), MESSAGE_ROW)
            rows["partition"], rows["sequence"] = self._partition[slots], self._sequence[slots]
            rows["scheduled_mono_ns"], rows["at_mono_ns"] = self._scheduled[slots], at_ns
            rows["outcome"], rows["ordinal"] = outcomes, indices
            self._messages.append(rows)
        while self._lowest_open < self._next and not self._open[self._lowest_open & self._mask]:
            self._lowest_open += 1

    def expire(self, sent_before_ns: int, now_ns: int) -> int:
        indices = np.arange(self._lowest_open, self._next)
        slots = indices & self._mask
        old = int(np.searchsorted(self._handed[slots], sent_before_ns, side="left"))
        given_up = indices[:old][self._open[slots[:old]]]
        n = len(given_up)
        self._settle(given_up, np.full(n, UNKNOWN, np.int64), np.full(n, now_ns, np.int64))
        return n

    def room(self) -> int:
        return self._mask + 1 - (self._next - self._lowest_open)

    def totals(self) -> ProducerTotals:
        return ProducerTotals(**self._totals)

    def take(self) -> Rows:
        self._closed += [(lane, outcome, a, b) for (outcome, lane), (a, b) in sorted(self._ranges.items())]
        ranges = _stacked(self._closed, OUTCOME_ROW)
        messages = np.concatenate(self._messages) if self._messages else np.empty(0, MESSAGE_ROW)
        self._closed, self._ranges, self._messages = [], {}, []
        return Rows(self._intervals.take(), ranges, messages)


class NumpyConsumerLedger:
    def __init__(self, shape: LedgerShape) -> None:
        self._intervals = _Intervals(shape.partitions)
        self._run_tag = shape.run_tag
        self._producers = shape.producers
        self._partitions = shape.destinations * shape.partitions
        self._highest = np.full(shape.producers * self._partitions, -1, np.int64)
        self._open: dict[int, list[int]] = {}
        self._closed: list[tuple[int, ...]] = []
        self._next_ordinal = 0
        self._totals = dict.fromkeys(ConsumerTotals._fields, 0)
        self._keep = shape.keep_messages
        self._messages: list[npt.NDArray[Any]] = []
        self._keys = checksum_keys(512)

    def start(self, unix_minus_mono_ns: int, measure_from_ns: int) -> None:
        self._intervals.start(unix_minus_mono_ns, measure_from_ns)

    def received(self, deliveries: Deliveries, epoch: int) -> None:
        n = len(deliveries)
        if n == 0:
            return
        if deliveries.buffer is None:
            raise RuntimeError("the numpy ledger needs deliveries with a buffer")
        buffer = deliveries.buffer
        starts = (deliveries.addresses - np.uint64(buffer.__array_interface__["data"][0])).astype(np.int64)
        lengths = deliveries.lengths.astype(np.int64)
        headers = _headers(buffer, starts, lengths)
        kinds = self._classify(buffer, starts, lengths, headers)
        before = sum(self._totals[name] for name in ("received", "corrupted", "unexpected"))
        self._totals["corrupted"] += int((kinds == 1).sum())
        self._totals["unexpected"] += int((kinds == 2).sum())
        good = np.flatnonzero(kinds == 0)
        if len(good) == 0:
            return
        h, size, again = headers[good], lengths[good], (deliveries.redelivered[good] != 0).astype(np.int64)
        self._totals["received"] += len(good)
        self._totals["bytes"] += int(size.sum())
        scheduled = h["scheduled_mono_ns"].astype(np.int64)
        partitions = h["partition"].astype(np.int32)
        counters = {"received": np.ones(len(good), np.int64), "redelivered": again, "bytes": size}
        at_ns = deliveries.arrived_mono_ns
        measured = {
            "end_to_end_latency": at_ns - scheduled,
            "end_to_end_latency_from_send": at_ns - h["sent_mono_ns"].astype(np.int64),
        }
        self._intervals.add(scheduled, partitions, counters, measured)
        self._number(h, at_ns, deliveries.positions[good], again, epoch)
        if self._keep:
            rows = np.zeros(len(good), MESSAGE_ROW)
            rows["producer"], rows["partition"], rows["outcome"] = h["producer"], partitions, -1
            rows["sequence"], rows["scheduled_mono_ns"], rows["at_mono_ns"] = h["sequence"], scheduled, at_ns
            rows["ordinal"] = before + good
            self._messages.append(rows)

    def _classify(
        self, buffer: npt.NDArray[np.uint8], starts: Int64s, lengths: Int64s, headers: npt.NDArray[Any]
    ) -> npt.NDArray[np.int8]:
        """0 ours, 1 corrupted, 2 unexpected: as `classify` in consumer_ledger.c."""
        whole = lengths >= HEADER_BYTES
        intact = whole & (headers["length"] == lengths)
        intact[intact] = self._checksums(buffer, starts[intact], lengths[intact]) == headers["checksum"][intact]
        ours = (
            intact
            & (headers["magic"] == MAGIC)
            & (headers["version"] == VERSION)
            & (headers["run_tag"] == self._run_tag)
            & (headers["producer"] < self._producers)
            & (headers["partition"] < self._partitions)
        )
        low, high = (headers["magic"] & 0xFF) == MAGIC & 0xFF, (headers["magic"] >> 8) == MAGIC >> 8
        traced = np.where(whole, low | high, low & high & (lengths >= 2))
        return np.where(ours, 0, np.where(intact | ~traced, 2, 1)).astype(np.int8)

    def _checksums(self, buffer: npt.NDArray[np.uint8], starts: Int64s, lengths: Int64s) -> npt.NDArray[np.uint64]:
        sums = np.zeros(len(starts), np.uint64)
        for size in np.unique(lengths).tolist():
            of = np.flatnonzero(lengths == size)
            words = -(-size // 8)
            if words > len(self._keys):
                self._keys = checksum_keys(2 * words)
            padded = np.zeros((len(of), words * 8), np.uint8)
            padded[:, :size] = np.lib.stride_tricks.sliding_window_view(buffer, size)[starts[of]]
            with np.errstate(over="ignore"):
                sums[of] = (padded.view(np.uint64) * self._keys[:words]).sum(axis=1, dtype=np.uint64)
        return sums

    def _number(self, h: npt.NDArray[Any], at_ns: int, positions: Int64s, again: Int64s, epoch: int) -> None:
        lanes = h["producer"].astype(np.int64) * self._partitions + h["partition"]
        np.maximum.at(self._highest, lanes, h["sequence"])
        for lane, sequence, position, r in zip(
            lanes.tolist(), h["sequence"].tolist(), positions.tolist(), again.tolist(), strict=True
        ):
            run = self._open.get(lane)
            if run is not None and sequence == run[1] + 1 and run[8] == epoch:
                run[1], run[3], run[5] = sequence, at_ns, run[5] + r
                run[7] = position
                continue
            if run is not None:
                self._close(lane, run)
            self._open[lane] = [sequence, sequence, at_ns, at_ns, self._next_ordinal, r, position, position, epoch]
            self._next_ordinal += 1

    def _close(self, lane: int, run: list[int]) -> None:
        self._closed.append((lane // self._partitions, lane % self._partitions, run[8], 0, *run[:8]))

    def totals(self) -> ConsumerTotals:
        return ConsumerTotals(**self._totals)

    def highest(self) -> Int64s:
        return self._highest.copy()

    def take(self) -> Rows:
        for lane, run in sorted(self._open.items()):
            self._close(lane, run)
        runs = _stacked(self._closed, SEQUENCE_ROW)
        messages = np.concatenate(self._messages) if self._messages else np.empty(0, MESSAGE_ROW)
        self._open, self._closed, self._messages = {}, [], []
        return Rows(self._intervals.take(), runs, messages)


def _headers(buffer: npt.NDArray[np.uint8], starts: Int64s, lengths: Int64s) -> npt.NDArray[Any]:
    """The headers as columns; messages too short for one are read zero-padded."""
    raw = np.zeros((len(starts), HEADER_BYTES), np.uint8)
    whole = lengths >= HEADER_BYTES
    if whole.any():
        raw[whole] = np.lib.stride_tricks.sliding_window_view(buffer, HEADER_BYTES)[starts[whole]]
    for i in np.flatnonzero(~whole).tolist():
        raw[i, : lengths[i]] = buffer[starts[i] : starts[i] + lengths[i]]
    return raw.view(HEADER).ravel()


assert HEADER.fields is not None
assert HEADER.fields["checksum"][1] == CHECKSUM_WORD * 8
