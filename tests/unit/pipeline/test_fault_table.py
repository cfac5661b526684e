"""Outages against numpy on the same times; the rows of `fault` against what the journal and delivery say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from brokerlab.evidence.tables import MESSAGE
from brokerlab.model.arrow import arrow_schema
from brokerlab.pipeline.faults import BegunFault, begun_faults, fault_rows
from brokerlab.pipeline.silence import After, outages, silences
from brokerlab.results.fault_text import fault_sentence
from brokerlab.results.tables import FAULT

FROM, UNTIL = 10_000_000_000, 22_000_000_000
MEASURE_FROM = 2_000_000_000


def fault(**changes: Any) -> BegunFault:
    facts = {"cell": "c01", "repeat": 1, "number": 1, "fault": "kill", "node": "nats-1", "nodes": 3,
             "was_leading": True, "from_mono_ns": FROM, "measure_from_mono_ns": MEASURE_FROM, "until_mono_ns": UNTIL}  # fmt: skip
    return BegunFault(**{**facts, **changes})


def times(rng: np.random.Generator, gap: tuple[float, float] | None) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Random times of 2 s before the fault to 3 s after the end, in no order, with none inside `gap` (s after it)."""
    drawn = rng.integers(FROM - 2 * 10**9, UNTIL + 3 * 10**9, 400)
    if gap is not None:
        drawn = drawn[(drawn < FROM + gap[0] * 1e9) | (drawn > FROM + gap[1] * 1e9)]
    return drawn.astype(np.int64)


def longest(at: np.ndarray[Any, np.dtype[np.int64]]) -> int:
    points = np.concatenate([[FROM], np.sort(at[at > FROM])])
    steps = np.diff(points)[points[:-1] < UNTIL]
    return int(max([*steps, UNTIL - points[-1]]))


def message_rows(kind: str, group: str, lane: tuple[int, int], at: Any, outcome: str) -> list[dict[str, Any]]:
    return [
        {"run": "r", "cell": "c01", "repeat": 1, "host": "h", "agent": "a", "kind": kind, "group": group, "producer": lane[0],
         "partition": lane[1], "sequence": i, "scheduled_mono_ns": int(t) - 5, "at_mono_ns": int(t),
         "outcome": outcome, "ordinal": i}
        for i, t in enumerate(at)
    ]  # fmt: skip


def found_outages(rows: list[dict[str, Any]], tasks: int, rounds: int = 0) -> dict[str, dict[str, Any]]:
    """By side, with the messages read in so many tasks."""
    parts = [pa.Table.from_pylist(rows[task::tasks], arrow_schema(MESSAGE)) for task in range(tasks)]
    silent = pa.concat_tables([silences(part, [After(1, FROM, UNTIL)], rounds) for part in parts])
    return {row["side"]: row for row in outages(silent).to_pylist()}


@pytest.mark.parametrize("tasks", [1, 7])
def test_outages_are_the_longest_gaps_of_sorted_times(tasks: int) -> None:
    rng = np.random.default_rng(3)
    lanes = [(0, 0), (0, 1), (1, 0)]
    acknowledged = {lane: times(rng, (0.5, 2.5) if lane == (1, 0) else None) for lane in lanes}
    delivered = {(g, lane): times(rng, (1.0, 4.0) if g == "g2" else None) for g in ("g1", "g2") for lane in lanes}
    delivered["g1", (0, 0)] = delivered["g1", (0, 0)][delivered["g1", (0, 0)] < FROM]  # a lane that never came back
    rows = [row for lane, at in acknowledged.items() for row in message_rows("send", "", lane, at, "acknowledged")]
    # What was given up or refused in between is no sign of life.
    rows += message_rows("send", "", (1, 0), np.linspace(FROM + 0.6e9, FROM + 2.4e9, 50), "unknown")
    rows += message_rows("send", "", (1, 0), np.linspace(FROM + 0.6e9, FROM + 2.4e9, 50), "rejected")
    for (group, lane), at in delivered.items():
        rows += message_rows("delivery", group, lane, at, "received")
    by_side = found_outages(rows, tasks)
    assert all(row["exact"] for row in by_side.values())
    assert set(by_side) == {"publish", "delivery"}
    assert by_side["publish"]["whole_ns"] == longest(np.concatenate(list(acknowledged.values())))
    assert by_side["publish"]["lane_ns"] == max(longest(at) for at in acknowledged.values())
    assert by_side["publish"]["lane_ns"] >= 2 * 10**9 > by_side["publish"]["whole_ns"]
    of_group = [longest(np.concatenate([at for (g, _), at in delivered.items() if g == name])) for name in ("g1", "g2")]
    assert by_side["delivery"]["whole_ns"] == max(of_group) == of_group[1] >= 3 * 10**9
    assert by_side["delivery"]["lane_ns"] == UNTIL - FROM
    assert (by_side["publish"]["recovered"], by_side["delivery"]["recovered"]) == (True, True)


def test_silences_shorter_than_were_passed_on_are_asked_for_again() -> None:
    every_ms = np.arange(FROM - 10**9, UNTIL + 10**9, 1_000_000)
    rows = message_rows("send", "", (0, 0), every_ms, "acknowledged")
    long = After(1, FROM, UNTIL + (1 << 40))  # hours: a silence of a millisecond is not passed on at first
    silent = silences(pa.Table.from_pylist(rows, arrow_schema(MESSAGE)), [long])
    assert [len(of) for of in silent["from_ns"].to_pylist()] == [1, 1], "only what has no end"
    coarse = found_outages(message_rows("send", "", (0, 0), np.arange(FROM, UNTIL + 10**6, 50_000), "acknowledged"), 3)
    assert coarse["publish"]["exact"] is False
    finer = found_outages(
        message_rows("send", "", (0, 0), np.arange(FROM, UNTIL + 10**6, 50_000), "acknowledged"), 3, 1
    )
    assert (finer["publish"]["exact"], finer["publish"]["whole_ns"]) == (True, 50_000)


@pytest.mark.parametrize("tasks", [1, 3])
def test_an_outage_that_outlasts_the_measure_phase_is_told_in_full_if_it_ended(tasks: int) -> None:
    at = np.array([FROM - 10, FROM + 10**9, UNTIL + 7 * 10**9, UNTIL + 90 * 10**9])
    rows = message_rows("send", "", (0, 0), at, "acknowledged") + message_rows(
        "delivery", "g", (0, 0), at[:2], "received"
    )
    by_side = {side: (row["whole_ns"], row["recovered"]) for side, row in found_outages(rows, tasks).items()}
    assert by_side == {
        "publish": (longest(at), True),
        "delivery": (longest(at[:2]), False),
    }
    assert by_side["publish"][0] == 18 * 10**9, "and what came a minute later began after the end"
    assert by_side["delivery"][0] == 11 * 10**9


def event(kind: str, at: int = 1, **detail: Any) -> dict[str, Any]:
    return {
        "cell": "c01",
        "repeat": 1,
        "source": "runner",
        "kind": kind,
        "at_mono_ns": at,
        "detail": json.dumps(detail),
    }


BEGUN = {"fault": "kill", "target": "leader", "node": "nats-1", "leader": "nats-1", "was_leading": True, "at_s": 8.0, "begun_mono_ns": FROM,
         "measure_from_mono_ns": MEASURE_FROM, "measure_until_mono_ns": UNTIL}  # fmt: skip


def test_faults_of_the_journal_are_numbered_in_order_of_time() -> None:
    events = [event("fault_begun", 9, **BEGUN | {"node": "b"}), event("end", 10), event("fault_begun", 3, **BEGUN)]
    assert [(s.number, s.node) for s in begun_faults(events)] == [(1, "nats-1"), (2, "b")]
    assert begun_faults([event("end")]) == []


def test_a_fault_ends_when_the_journal_says_so_of_its_node() -> None:
    ends = {"fault": "kill", "node": "b", "ended_mono_ns": MEASURE_FROM + 11 * 10**9}
    events = [
        event("fault_begun", 1, **BEGUN),
        event("fault_begun", 2, **BEGUN | {"node": "b"}),
        event("fault_ended", 3, **ends),
    ]
    rows = fault_rows(begun_faults(events), [], [delivery_row("g1")], events)
    assert [(row["node"], row["end_s"]) for row in rows] == [("nats-1", None), ("b", 11.0)]


def delivery_row(group: str, **counts: Any) -> dict[str, Any]:
    return {
        "cell": "c01",
        "repeat": 1,
        "group": group,
        "rejected": 5,
        "unknown": 7,
        "lost": 0,
        "duplicated": 0,
        "drained": True,
    } | counts


def test_a_row_has_the_take_over_the_outages_and_the_counts() -> None:
    found = [{"cell": "c01", "repeat": 1, "number": 1, "side": "publish", "whole_ns": 1_250_000_000, "lane_ns": 2 * 10**9, "recovered": True},
             {"cell": "c01", "repeat": 1, "number": 1, "side": "delivery", "whole_ns": 1_500_000_000, "lane_ns": 10**9, "recovered": True}]  # fmt: skip
    events = [
        event("fault_begun", 1, **BEGUN),
        event("took_over", 2, node="nats-3", fault_node="nats-1", after_s=1.125),
    ]
    groups = [delivery_row("g1", lost=2, duplicated=3), delivery_row("g2", duplicated=4, drained=False)]
    (row,) = fault_rows([fault()], found, groups, events)
    assert set(row) == set(FAULT.computed().names())
    assert (row["at_s"], row["rest_s"]) == (8.0, 12.0)
    assert (row["took_over"], row["took_over_after_s"]) == ("nats-3", 1.125)
    assert (row["publish_outage_s"], row["publish_outage_lane_s"], row["delivery_outage_s"]) == (1.25, 2.0, 1.5)
    assert (row["rejected"], row["unknown"], row["lost"]) == (5, 7, 2), "sends are counted once, deliveries by group"
    assert (row["duplicated"], row["drained"]) == (7, False)
    assert fault_sentence(row) == (
        "nats-1, which led, was killed 8.0 s into measure; nats-3 took over after 1.12 s; nothing was acknowledged for"
        " 1.25 s, nothing delivered for 1.50 s"
    )


def test_a_side_without_a_single_message_was_out_to_the_end() -> None:
    (row,) = fault_rows([fault()], [], [delivery_row("g1")], [event("nothing_took_over", fault_node="nats-1")])
    assert (row["publish_outage_s"], row["delivery_outage_s"]) == (12.0, 12.0)
    assert (row["took_over"], row["took_over_after_s"]) == ("", None)
    assert "nothing took over; nothing was acknowledged for more than 12.00 s" in fault_sentence(row)


def test_without_consumers_nothing_is_said_about_deliveries() -> None:
    (row,) = fault_rows([fault(was_leading=False)], [], [delivery_row("")], [])
    assert row["delivery_outage_s"] is None
    assert "a follower" in fault_sentence(row)
    assert "nothing had to take over" in fault_sentence(row)
    assert "delivered" not in fault_sentence(row)


def test_a_take_over_after_another_fault_is_not_this_ones() -> None:
    events = [event("fault_begun", 1, **BEGUN), event("took_over", 2, node="nats-3", fault_node="other-1", after_s=1.0)]
    (row,) = fault_rows([fault()], [], [delivery_row("g1")], events)
    assert row["took_over"] == ""


def test_a_node_that_is_killed_twice_has_an_end_and_a_take_over_for_each_time() -> None:
    ended = {"fault": "kill", "node": "nats-1"}
    events = [
        event("fault_begun", 1, **BEGUN),
        event("fault_ended", 2, **ended, ended_mono_ns=FROM + 2 * 10**9),
        event("fault_begun", 3, **BEGUN | {"begun_mono_ns": FROM + 5 * 10**9}),
        event("took_over", 4, node="nats-2", fault_node="nats-1", after_s=0.5),
        event("fault_ended", 5, **ended, ended_mono_ns=FROM + 6 * 10**9),
    ]
    rows = fault_rows(begun_faults(events), [], [delivery_row("g1")], events)
    assert [(row["end_s"], row["took_over"]) for row in rows] == [(10.0, ""), (14.0, "nats-2")]
    assert fault_sentence(rows[0]).startswith(
        "nats-1, which led, was killed 8.0 s into measure and started again 2.0 s later; no other node took over; nothing"
    )


def test_of_a_single_node_it_is_not_said_who_led_or_took_over() -> None:
    (begun,) = begun_faults([event("fault_begun", **BEGUN | {"nodes": 1})])
    (row,) = fault_rows([begun], [], [delivery_row("")], [])
    assert fault_sentence(row | {"end_s": 9.5}) == (
        "nats-1 was killed 8.0 s into measure and started again 1.5 s later; nothing was acknowledged for more than 12.00 s"
    )
