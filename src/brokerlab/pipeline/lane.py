"""What became of the messages of one lane, from ranges of numbers alone. Plain numpy; Spark brings the ranges.

Between two neighbouring ends of ranges nothing changes, so running sums over the ends say for each stretch of numbers
how often it was sent, acknowledged and received; counting is then a matter of lengths. The cost grows with the number
of ranges, not of messages. With competing consumers there are nearly as many ranges as messages (1.4 M messages left
0.9 M ranges), and that is why this is numpy: as SQL windows it took a third of the whole analysis.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Self

import numpy as np
import pyarrow as pa

from brokerlab.model.blocks import Int64s

KINDS = ("sent", "acknowledged", "rejected", "unknown", "received")
MOST_RANGES = 1000


@dataclass(frozen=True)
class Ranges:
    """Ranges of one lane, one column each. The last four say something of received ones only."""

    kind: Int64s  # index in KINDS
    first: Int64s
    last: Int64s
    consumer: Int64s
    epoch: Int64s
    ordinal: Int64s
    redelivered: Int64s

    @classmethod
    def of(cls, packed: pa.Table) -> Self:
        """From rows with an array under each of the names above."""
        return cls(*(packed[f.name].combine_chunks().flatten().to_numpy() for f in fields(cls)))

    def received(self) -> Ranges:
        chosen = self.kind == KINDS.index("received")
        return Ranges(*(getattr(self, f.name)[chosen] for f in fields(self)))


@dataclass(frozen=True)
class LaneAccount:
    """Counts as in the delivery table, and the first MOST_RANGES lost ranges in ascending order."""

    sent: int
    acknowledged: int
    rejected: int
    unknown: int
    received: int
    delivered: int
    lost: int
    duplicated: int
    redelivered: int
    reordered: int
    recovered: int
    unknown_absent: int
    aborted_read: int
    never_sent: int  # deliveries of numbers that were never sent
    lost_first: Int64s
    lost_last: Int64s


RANGE = tuple(f.name for f in fields(Ranges))
LOST_RANGES = ("lost_first", "lost_last")
COUNTS = tuple(f.name for f in fields(LaneAccount) if f.name not in LOST_RANGES)


def account(ranges: Ranges, *, whole: bool) -> LaneAccount:
    """What became of every number of the lane. `whole` says that no evidence is missing.

    A send that was never settled is unknown. Acknowledged beats rejected beats unknown: an acknowledgement that comes
    after a timeout is still one. Where evidence is missing, what arrived must have been sent, so it is unknown instead
    of never sent.
    """
    at = np.unique(np.concatenate([ranges.first, ranges.last + 1]))
    length = np.diff(at)
    times = {word: _times(ranges, kind, at) for kind, word in enumerate(KINDS)}
    received = times["received"]
    arrived = received > 0
    acknowledged = times["acknowledged"] > 0
    rejected = ~acknowledged & (times["rejected"] > 0)
    handed_over = (times["unknown"] > 0) | (times["sent"] > 0) | (arrived & (not whole))
    unknown = ~acknowledged & ~rejected & handed_over
    sent = acknowledged | rejected | unknown
    lost = acknowledged & ~arrived
    lost_first, lost_last = _joined(at, lost)

    def total(chosen: np.ndarray, times: Int64s | int = 1) -> int:
        return int((length * times)[chosen].sum())

    return LaneAccount(
        sent=total(sent),
        acknowledged=total(acknowledged),
        rejected=total(rejected),
        unknown=total(unknown),
        received=total(arrived, received),
        delivered=total(arrived & sent),
        lost=total(lost),
        duplicated=total(arrived & sent, received - 1),
        redelivered=int(ranges.redelivered.sum()),
        reordered=reordered(ranges.received()),
        recovered=total(unknown & arrived),
        unknown_absent=total(unknown & ~arrived),
        aborted_read=total(rejected & arrived),
        never_sent=total(arrived & ~sent, received),
        lost_first=lost_first[:MOST_RANGES],
        lost_last=lost_last[:MOST_RANGES],
    )


def _times(ranges: Ranges, kind: int, at: Int64s) -> Int64s:
    """How often each stretch between neighbouring points `at` is covered by ranges of `kind`."""
    chosen = ranges.kind == kind
    begun = np.bincount(np.searchsorted(at, ranges.first[chosen]), minlength=len(at))
    ended = np.bincount(np.searchsorted(at, ranges.last[chosen] + 1), minlength=len(at))
    return np.cumsum(begun - ended)[:-1]


def _joined(at: Int64s, chosen: np.ndarray) -> tuple[Int64s, Int64s]:
    """(first, last) of the chosen stretches, neighbours joined."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
    return at[edges[::2]], at[edges[1::2]] - 1


def reordered(runs: Ranges) -> int:
    """Messages that first arrived after a later one of their lane, within one consumer and epoch.

    A number that raises the highest seen so far arrives in order, and can do so only at its first arrival. So the late
    ones are all different numbers minus those that raised the mark. Repeats fall out by themselves; runs the broker
    marked as redelivered throughout are left out.
    """
    by_arrival = np.lexsort((runs.ordinal, runs.epoch, runs.consumer))
    consumer, epoch = runs.consumer[by_arrival], runs.epoch[by_arrival]
    moved = np.flatnonzero((np.diff(consumer) != 0) | (np.diff(epoch) != 0)) + 1
    late = 0
    for begin, end in pairwise([0, *moved.tolist(), len(by_arrival)]):
        place = by_arrival[begin:end]
        first, last = runs.first[place], runs.last[place]
        fresh = runs.redelivered[place] < last - first + 1
        first, last = first[fresh], last[fresh]
        ascending = np.argsort(first, kind="stable")
        late += _new_numbers(first[ascending], last[ascending]) - _new_numbers(first, last)
    return late


def _new_numbers(first: Int64s, last: Int64s) -> int:
    """How many numbers lie above all runs before their own, in the order given."""
    before = np.maximum.accumulate(np.concatenate([[-1], last]))[:-1]
    return int(np.maximum(last - np.maximum(first, before + 1) + 1, 0).sum())
