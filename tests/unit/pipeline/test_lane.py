"""The numpy account of one lane against counting message by message, and what it says of odd lanes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from streams import STREAMS, Stream, counted

from brokerlab.pipeline.lane import KINDS, MOST_RANGES, Ranges, account, reordered
from synthetic import runs_of


def ranges_of(rows: list[tuple[str, int, int, int, int, int]]) -> Ranges:
    """Rows are (kind, first, last, consumer, ordinal, redelivered)."""
    kind, first, last, consumer, ordinal, redelivered = zip(*rows, strict=True) if rows else ((),) * 6
    columns = [[KINDS.index(k) for k in kind], first, last, consumer, [0] * len(rows), ordinal, redelivered]
    return Ranges(*(np.array(c, np.int64) for c in columns))


def rows_of(stream: Stream) -> list[tuple[str, int, int, int, int, int]]:
    rows = [("sent", 0, len(stream.outcomes) - 1, 0, 0, 0)]
    for word in KINDS[1:4]:
        rows += [(word, f, t, 0, 0, 0) for f, t in runs_of([s for s, w in enumerate(stream.outcomes) if w == word])]
    for consumer, arrivals in enumerate(stream.arrivals):
        rows += [("received", f, t, consumer, i, 0) for i, (f, t) in enumerate(runs_of(list(arrivals)))]
    return rows[::-1]  # order of rows must not matter


@settings(max_examples=1000, deadline=None)
@given(STREAMS)
def test_ranges_give_the_counts_of_single_messages(stream: Stream) -> None:
    expected = counted(stream)
    expected["never_sent"] = expected.pop("unexpected")
    found = account(ranges_of(rows_of(stream)), whole=stream.whole)
    assert {name: getattr(found, name) for name in expected} == expected
    here = {s for arrivals in stream.arrivals for s in arrivals}
    lost = [s for s, w in enumerate(stream.outcomes) if w == "acknowledged" and s not in here]
    assert list(zip(found.lost_first.tolist(), found.lost_last.tolist(), strict=True)) == runs_of(lost)


def test_lost_ranges_are_limited_and_their_count_is_not() -> None:
    n = 3 * MOST_RANGES
    every_second = [("received", 2 * i, 2 * i, 0, i, 0) for i in range(n)]
    found = account(ranges_of([("acknowledged", 0, 2 * n - 1, 0, 0, 0), *every_second]), whole=True)
    assert found.lost == n
    assert found.lost_first.tolist() == found.lost_last.tolist() == [2 * i + 1 for i in range(MOST_RANGES)]


def test_two_consumers_that_share_a_lane_are_both_in_order() -> None:
    shares = [("received", i, i, i % 2, i // 2, 0) for i in range(1000)]
    assert reordered(ranges_of(shares)) == 0
    swapped = [("received", i ^ 2, i ^ 2, i % 2, i // 2, 0) for i in range(1000)]
    assert reordered(ranges_of(swapped)) == 500


def test_a_lane_nobody_received_from_and_nobody_sent_to() -> None:
    assert reordered(ranges_of([])) == 0
    nothing = account(ranges_of([]), whole=True)
    assert (nothing.sent, nothing.received, nothing.lost) == (0, 0, 0)
