"""What became of the messages of one lane, from ranges of numbers alone. Plain numpy; Spark brings the ranges.

How often a number was sent, acknowledged and received follows from running sums over the ends of ranges. Where ranges are
few these are sums over the points at which something changes; where they are nearly as many as numbers (competing
consumers) sums over all numbers are cheaper. A lane may be accounted for in blocks of numbers: all counts add up, and lost
ranges are joined at the seams.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from brokerlab.model.blocks import Int64s

KINDS = ("sent", "acknowledged", "rejected", "unknown", "received")
RECEIVED = KINDS.index("received")
MOST_RANGES = 1000
NUMBERS_PER_RANGE = 8  # from here on sums over points are cheaper than sums over all numbers
COUNTS = (
    "sent", "acknowledged", "rejected", "unknown", "received", "delivered", "lost", "duplicated", "redelivered",
    "reordered", "recovered", "unknown_absent", "aborted_read", "never_sent", "numbers_never_sent",
)  # fmt: skip
FOR_EVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Stream:
    """Ranges of one kind. Those received are of one group, consumer and assignment epoch.

    `in_order`: their order counts; runs that the broker marked as redelivered throughout are kept apart, and for these it
    does not. `redelivered` is the number of deliveries so marked in all of them together.
    """

    kind: int
    first: Int64s
    last: Int64s
    group: str = ""
    consumer: int = 0
    epoch: int = 0
    in_order: bool = True
    redelivered: int = 0
    ordinal: Int64s | None = None  # of each range, where it was received

    @property
    def reader(self) -> tuple[str, int, int]:
        return self.group, self.consumer, self.epoch


@dataclass(frozen=True)
class Account:
    """Counts as in the delivery table by name (COUNTS), and the first MOST_RANGES lost ranges in ascending order.

    `never_sent` are deliveries of numbers that were never sent, `numbers_never_sent` the numbers themselves: where
    evidence is missing they are unknown instead.
    """

    counts: dict[str, int]
    lost_first: Int64s
    lost_last: Int64s


def accounts(streams: Sequence[Stream], left_at: dict[tuple[str, int, int], int]) -> dict[str | None, Account]:
    """What became of every number, by group that received any; None is a group that received nothing.

    A send that was never settled is unknown. Acknowledged beats rejected beats unknown: an acknowledgement that comes
    after a timeout is still one. The streams may be one block of the lane: `left_at` then says for a reader at which
    ordinal the first number beyond the block came.
    """
    if not streams:
        return {}
    points = _points(streams)
    sends = _Sends.of(points, streams)
    found: dict[str | None, Account] = {None: _account(points, sends, None)}
    received = sorted((s for s in streams if s.kind == RECEIVED), key=lambda s: s.group)
    for group, mine in groupby(received, key=lambda s: s.group):
        of_group = list(mine)
        account = _account(points, sends, points.times(of_group))
        account.counts["redelivered"] = sum(s.redelivered for s in of_group)
        account.counts["reordered"] = reordered(of_group, left_at)
        found[group] = account
    return found


@dataclass(frozen=True)
class _Points:
    """Where a range begins or one has ended; between neighbouring points nothing changes. `at` None: every number."""

    start: int
    numbers: int
    at: Int64s | None

    def place(self, numbers: Int64s) -> Int64s:
        return numbers - self.start if self.at is None else np.searchsorted(self.at, numbers)

    def times(self, streams: Iterable[Stream]) -> Int64s:
        """How often each stretch between neighbouring points is covered by the streams' ranges."""
        size = self.numbers + 1 if self.at is None else len(self.at)
        steps = np.zeros(size, np.int64)
        for stream in streams:
            steps += np.bincount(self.place(stream.first), minlength=size)
            steps -= np.bincount(self.place(stream.last + 1), minlength=size)
        return np.cumsum(steps)[:-1]

    def total(self, chosen: np.ndarray, times: Int64s | None = None) -> int:
        """Numbers of the chosen stretches, each as often as `times` says."""
        if self.at is None:
            return int(np.count_nonzero(chosen) if times is None else times[chosen].sum())
        lengths = np.diff(self.at)[chosen]
        return int(lengths.sum() if times is None else (lengths * times[chosen]).sum())

    def joined(self, chosen: np.ndarray) -> tuple[Int64s, Int64s]:
        """(first, last) of the first MOST_RANGES chosen stretches, neighbours joined."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
        edges = edges[: 2 * MOST_RANGES]
        numbers = edges + self.start if self.at is None else self.at[edges]
        return numbers[::2], numbers[1::2] - 1


def _points(streams: Sequence[Stream]) -> _Points:
    some = [s for s in streams if len(s.first)]
    if not some:
        return _Points(0, 0, None)
    start = min(int(s.first.min()) for s in some)
    numbers = max(int(s.last.max()) for s in some) + 1 - start
    if numbers <= NUMBERS_PER_RANGE * sum(len(s.first) for s in some):
        return _Points(start, numbers, None)
    return _Points(start, numbers, np.unique(np.concatenate([e for s in some for e in (s.first, s.last + 1)])))


@dataclass(frozen=True)
class _Sends:
    acknowledged: np.ndarray
    rejected: np.ndarray
    unknown: np.ndarray

    @classmethod
    def of(cls, points: _Points, streams: Sequence[Stream]) -> _Sends:
        covered = [points.times(s for s in streams if s.kind == kind) > 0 for kind in range(RECEIVED)]
        sent, acknowledged, rejected, unknown = covered
        rejected &= ~acknowledged
        return cls(acknowledged, rejected, (unknown | sent) & ~acknowledged & ~rejected)


def _account(points: _Points, sends: _Sends, received: Int64s | None) -> Account:
    """`received`: how often each stretch was; None: never."""
    sent = sends.acknowledged | sends.rejected | sends.unknown
    of_sends = {
        "sent": points.total(sent),
        "acknowledged": points.total(sends.acknowledged),
        "rejected": points.total(sends.rejected),
        "unknown": points.total(sends.unknown),
    }
    if received is None:
        counts = dict.fromkeys(COUNTS, 0) | of_sends
        counts |= {"lost": counts["acknowledged"], "unknown_absent": counts["unknown"]}
        return Account(counts, *points.joined(sends.acknowledged))
    arrived = received > 0
    lost = sends.acknowledged & ~arrived
    strange = arrived & ~sent
    delivered = points.total(arrived & sent)
    all_received = points.total(arrived, received)
    never_sent = points.total(strange, received)
    return Account(
        of_sends
        | {
            "received": all_received,
            "delivered": delivered,
            "lost": points.total(lost),
            "duplicated": all_received - never_sent - delivered,
            "redelivered": 0,
            "reordered": 0,
            "recovered": points.total(sends.unknown & arrived),
            "unknown_absent": points.total(sends.unknown & ~arrived),
            "aborted_read": points.total(sends.rejected & arrived),
            "never_sent": never_sent,
            "numbers_never_sent": points.total(strange),
        },
        *points.joined(lost),
    )


def reordered(streams: Iterable[Stream], left_at: dict[tuple[str, int, int], int]) -> int:
    """Messages that first arrived after a later one of their lane, within one consumer and epoch.

    A number that raises the highest seen so far arrives in order, and can do so only at its first arrival. So the late
    ones are all different numbers minus those that raised the mark. Repeats fall out by themselves. A number of this
    block cannot raise the mark once one beyond the block has come (`left_at`).
    """
    late = 0
    ordered = sorted((s for s in streams if s.in_order), key=lambda s: s.reader)
    for reader, mine in groupby(ordered, key=lambda s: s.reader):
        runs = list(mine)
        first, last = (np.concatenate([getattr(s, end) for s in runs]) for end in ("first", "last"))
        ordinal = np.concatenate([s.ordinal for s in runs if s.ordinal is not None])
        by_arrival = np.argsort(ordinal, kind="stable")
        by_arrival = by_arrival[: np.searchsorted(ordinal[by_arrival], left_at.get(reader, FOR_EVER), side="right")]
        by_number = np.argsort(first, kind="stable")
        late += _new_numbers(first[by_number], last[by_number]) - _new_numbers(first[by_arrival], last[by_arrival])
    return late


def _new_numbers(first: Int64s, last: Int64s) -> int:
    """How many numbers lie above all runs before their own, in the order given."""
    before = np.maximum.accumulate(np.concatenate([[-1], last]))[:-1]
    return int(np.maximum(last - np.maximum(first, before + 1) + 1, 0).sum())
