"""Ranges against messages: the account of lanes, whole and in blocks, against counting message by message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import STREAMS, WORDS, Stream, counted

from brokerlab.evidence.tables import OUTCOME, SEQUENCE
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Table
from brokerlab.pipeline import lane
from brokerlab.pipeline.delivery import delivery, lost_range
from brokerlab.pipeline.executions import ExecutionFacts
from brokerlab.pipeline.lane import MOST_RANGES
from brokerlab.pipeline.packing import BLOCK_BITS, ONE_BLOCK_BITS, PACKED, Packer, Split, lane_accounts, split_for
from synthetic import runs_of

Rows = list[dict[str, Any]]
ROW = {"run": "r", "cell": "c01", "repeat": 1, "host": "", "agent": "a", "producer": 0, "partition": 0}


def sends(lane: int, outcomes: tuple[str, ...]) -> Rows:
    rows = [ROW | {"partition": lane, "first": 0, "last": len(outcomes) - 1, "outcome": "sent"}]
    for word in WORDS[:3]:
        for first, last in runs_of([s for s, w in enumerate(outcomes) if w == word]):
            rows.append(ROW | {"partition": lane, "first": first, "last": last, "outcome": word})
    return rows[::-1]  # order of rows must not matter


def received(lane: int, consumer: int, runs: list[tuple[int, int]], *, group: str = "g", redelivered: int = 0) -> Rows:
    """All times are equal: only ordinals tell the order."""
    of = {"partition": lane, "group": group, "consumer": consumer, "epoch": 0, "first_mono_ns": 1, "last_mono_ns": 1,
          "redelivered": redelivered, "first_position": -1, "last_position": -1}  # fmt: skip
    return [ROW | of | {"first": f, "last": t, "ordinal": i} for i, (f, t) in enumerate(runs)][::-1]


def table(rows: Rows, of: Table) -> pa.Table:
    return pa.Table.from_pylist(rows, arrow_schema(of))


def found(
    outcomes: Rows, arrivals: Rows, facts: ExecutionFacts, split: Split, tasks: int = 2
) -> tuple[dict[str, Any], Rows]:
    """The row of delivery and the rows of lost_range, the evidence read in several tasks."""
    by_slot: dict[int, list[pa.Table]] = {}
    for task in range(tasks):
        packer = Packer(split)
        packed = [
            *packer.sends(table(outcomes[task::tasks], OUTCOME)),
            *packer.arrivals(table(arrivals[task::tasks], SEQUENCE)),
            *packer.marks(),
        ]
        for slot, rows in packed:
            by_slot.setdefault(slot, []).append(rows)
    made = [lane_accounts(pa.concat_tables(rows), 1) for rows in by_slot.values()]
    accounts = {("c01", 1): pa.concat_tables(made)} if made else {}
    (row,) = delivery(accounts, [], [facts]).to_pylist()
    return row, lost_range(accounts, [facts]).to_pylist()


def facts(*, whole: bool = True, group: str = "g") -> ExecutionFacts:
    return ExecutionFacts("c01", 1, group, whole=whole, drained=whole)


@pytest.mark.parametrize("few", [True, False], ids=["sums over points", "sums over numbers"])
@pytest.mark.parametrize("split", [Split(), Split(2, 3), Split(0, 1)], ids=str)
@settings(max_examples=40, deadline=None)
@given(streams=st.lists(STREAMS, min_size=1, max_size=3))
def test_ranges_give_the_counts_of_single_messages(streams: list[Stream], split: Split, few: bool) -> None:
    """Each stream is a lane of one execution, whose evidence is whole as that of the first."""
    whole = streams[0].whole
    lanes = [Stream(s.outcomes, s.arrivals, whole) for s in streams]
    outcomes = [row for i, s in enumerate(lanes) for row in sends(i, s.outcomes)]
    arrivals = [
        row
        for i, s in enumerate(lanes)
        for consumer, numbers in enumerate(s.arrivals)
        for row in received(i, consumer, runs_of(list(numbers)))
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lane, "NUMBERS_PER_RANGE", 0 if few else 1000)
        row, lost = found(outcomes, arrivals, facts(whole=whole), split)
    each = [counted(s) for s in lanes]
    expected = {name: sum(counts[name] for counts in each) for name in each[0]}
    assert {name: row[name] for name in expected} == expected
    assert row["received"] == row["delivered"] + row["duplicated"] + row["unexpected"]
    assert row["sent"] == row["acknowledged"] + row["rejected"] + row["unknown"]
    for i, stream in enumerate(lanes):
        here = {s for numbers in stream.arrivals for s in numbers}
        missing = [s for s, w in enumerate(stream.outcomes) if w == "acknowledged" and s not in here]
        named = [(r["first"], r["last"]) for r in lost if r["partition"] == i]
        assert named == runs_of(missing), "lost ranges are joined, also where blocks meet"


def test_lost_ranges_are_limited_and_their_count_is_not() -> None:
    n = 3 * MOST_RANGES
    acknowledged = [ROW | {"first": 0, "last": 2 * n - 1, "outcome": "acknowledged"}]
    every_second = received(0, 0, [(2 * i, 2 * i) for i in range(n)])
    row, lost = found(acknowledged, every_second, facts(), Split(8))
    assert row["lost"] == n
    assert [(r["first"], r["last"]) for r in lost] == [(2 * i + 1, 2 * i + 1) for i in range(MOST_RANGES)]


@pytest.mark.parametrize("split", [Split(), Split(4, 5)], ids=str)
def test_two_consumers_that_share_a_lane_are_both_in_order(split: Split) -> None:
    def shares(change: int) -> Rows:
        of = [[(i ^ change, i ^ change) for i in range(consumer, 1000, 2)] for consumer in (0, 1)]
        return [*received(0, 0, of[0]), *received(0, 1, of[1])]

    outcomes = [ROW | {"first": 0, "last": 999, "outcome": "acknowledged"}]
    assert found(outcomes, shares(0), facts(), split)[0]["reordered"] == 0
    assert found(outcomes, shares(2), facts(), split)[0]["reordered"] == 500


@pytest.mark.parametrize("split", [Split(), Split(1, 2)], ids=str)
def test_runs_marked_as_redelivered_are_no_reordering(split: Split) -> None:
    outcomes = [ROW | {"first": 0, "last": 5, "outcome": "acknowledged"}]
    runs = [(0, 1), (4, 5), (2, 3)]
    counts = []
    for marked in (0, 2):
        rows = [r | {"redelivered": marked if r["first"] == 2 else 0} for r in received(0, 0, runs)]
        row, _ = found(outcomes, rows, facts(), split)
        counts.append((row["reordered"], row["redelivered"]))
    assert counts == [(2, 0), (0, 2)]


def test_a_group_that_left_nothing_has_lost_everything_another_had() -> None:
    outcomes = [ROW | {"partition": p, "first": 0, "last": 9, "outcome": "acknowledged"} for p in (0, 1)]
    arrivals = received(0, 0, [(0, 9)], group="g1")
    row, lost = found(outcomes, arrivals, facts(group="g2"), Split(3))
    assert (row["sent"], row["received"], row["lost"]) == (20, 0, 20)
    row, lost = found(outcomes, arrivals, facts(group="g1"), Split(3))
    assert (row["sent"], row["received"], row["lost"]) == (20, 10, 10)
    assert [(r["partition"], r["first"], r["last"]) for r in lost] == [(1, 0, 9)]


def test_a_lane_nobody_received_from_and_nobody_sent_to() -> None:
    assert len(lane_accounts(PACKED.empty_table(), 1)) == 0
    row, lost = found([], [], facts(), Split())
    assert (row["sent"], row["received"], row["lost"], lost) == (0, 0, 0, [])


def test_only_many_ranges_are_divided_however_far_their_numbers_reach() -> None:
    assert split_for(1000) == Split(ONE_BLOCK_BITS, 1)
    assert split_for(30_000_000) == Split(BLOCK_BITS, 60)
    row, _ = found([ROW | {"first": 0, "last": 1 << 60, "outcome": "acknowledged"}], [], facts(), split_for(1))
    assert row["lost"] == (1 << 60) + 1


def test_random_arrivals_in_blocks_and_in_one_piece_give_the_same() -> None:
    rng = np.random.default_rng(5)
    numbers = rng.permutation(np.repeat(np.arange(3000), 1 + (rng.random(3000) < 0.1)))
    jitter = np.argsort(numbers + rng.normal(0, 40, len(numbers)), kind="stable")
    runs = runs_of(numbers[jitter].tolist())
    outcomes = [ROW | {"first": 0, "last": 2999, "outcome": "acknowledged"}]
    whole = found(outcomes, received(0, 0, runs), facts(), Split())
    assert whole[0]["reordered"] > 100
    assert found(outcomes, received(0, 0, runs), facts(), Split(6, 7), tasks=5) == whole
