"""Backlog rates against numpy on drawn times of arrival, down to a tenth of a second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from brokerlab.evidence.tables import SEQUENCE
from brokerlab.judge.figures import figures
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.execution_id import ExecutionId
from brokerlab.pipeline.catch_up import Start, backlogs, catch_up_rows
from brokerlab.pipeline.gold import together
from brokerlab.pipeline.scan import arrivals

SENT_NS = 50_000_000_000
TARGET = ExecutionId(cell="c01", repeat=1)


def sequence_rows(group: str, cell: str, at: np.ndarray[Any, Any], runs: int) -> list[dict[str, Any]]:
    """The messages that arrived at these times, as runs of one lane, in no order."""
    parts = np.array_split(np.arange(len(at)), runs)
    return [
        {"run": "r", "cell": cell, "repeat": 1, "host": "h", "agent": "a", "group": group, "consumer": 0, "epoch": 0,
         "producer": 0, "partition": 0, "first": int(p[0]), "last": int(p[-1]), "first_mono_ns": int(at[p[0]]),
         "last_mono_ns": int(at[p[-1]]), "ordinal": i, "redelivered": 0, "first_position": -1, "last_position": -1}
        for i, p in reversed(list(enumerate(parts)))
    ]  # fmt: skip


def test_a_backlog_of_a_tenth_of_a_second_has_the_rate_of_its_arrival_times() -> None:
    rng = np.random.default_rng(2)
    at = {g: np.sort(SENT_NS + 10**9 + rng.integers(0, 10**8, n)) for g, n in (("g1", 1000), ("g2", 700))}
    rows = [row for g, times in at.items() for row in sequence_rows(g, "c01", times, 37)]
    rows += sequence_rows("g1", "c02", at["g1"], 3)  # tails: not asked for
    evidence = pa.Table.from_pylist(rows, arrow_schema(SEQUENCE))
    parts = [arrivals(evidence[at : at + 20]) for at in range(0, len(evidence), 20)]
    found = together(pa.concat_tables(parts))
    rates = [{"cell": "c01", "repeat": 1, "role": "consumer", "group": g, "received": n, "bytes": n * 220}
             for g, n in (("g1", 400), ("g1", 600), ("g2", 700))]  # fmt: skip
    made = catch_up_rows(found, {TARGET: {"": Start(SENT_NS, True)}}, rates)
    assert [r["group"] for r in made] == ["g1", "g2"]
    for row, times in zip(made, at.values(), strict=True):
        assert row["received"] == len(times)
        assert row["took_s"] == pytest.approx(np.ptp(times) / 1e9)
        assert row["received_per_s"] == pytest.approx(1e9 / np.diff(times).mean())
        assert row["received_bytes_per_s"] == pytest.approx(220 * row["received_per_s"])
        assert row["waited_s"] == pytest.approx((times[0] - SENT_NS) / 1e9)
        assert row["reason"] == ""
    backlog = figures([], [], [], [], catch_up=made)
    assert backlog == {("c01", "backlog_received_per_s"): {1: pytest.approx(sum(r["received_per_s"] for r in made))}}


def test_consumers_that_start_later_have_no_rate_of_the_measure_phase() -> None:
    at = {"cell": "c01", "repeat": 1, "phase": "measure", "bytes": 0}
    rates = [{**at, "second_unix_s": s, "role": role, "group": group, "sent": n, "received": 0}
             for s in range(5) for role, group, n in (("producer", "", 10), ("consumer", "g1", 0))]  # fmt: skip
    assert figures(rates, [], [], [])["c01", "received_per_s"] == {1: 0.0}
    (row,) = catch_up_rows(
        [{"cell": "c01", "repeat": 1, "group": "g1", "received": 101, "first_mono_ns": 0, "last_mono_ns": 10**9}],
        {TARGET: {"": Start(0, True)}},
        [],
    )
    found = {metric for _, metric in figures(rates, [], [], [], catch_up=[row])}
    assert found == {"sent_per_s", "sent_bytes_per_s", "sent_peak_per_s", "sent_variation", "backlog_received_per_s"}


def test_what_arrived_at_one_instant_has_no_rate_and_says_so() -> None:
    found = [{"cell": "c01", "repeat": 1, "group": "g1", "received": 9, "first_mono_ns": 5, "last_mono_ns": 5}]
    (row,) = catch_up_rows(found, {TARGET: {"": Start(1, True)}}, [])
    assert (row["received_per_s"], row["received_bytes_per_s"]) == (None, None)
    assert row["reason"] == "everything arrived at one instant"
    assert figures([], [], [], [], catch_up=[row]) == {}


def test_the_journal_says_whose_consumers_start_after_the_backlog() -> None:
    event = {"cell": "c01", "repeat": 1, "source": "runner", "detail": "{}"}
    assert backlogs([{**event, "kind": "backlog_complete", "at_mono_ns": 7}]) == {TARGET: {"": Start(7, True)}}
    assert backlogs([{**event, "kind": "drain", "at_mono_ns": 7}]) == {}
    told = [{**event, "kind": "consumers_started", "at_mono_ns": at, "detail": f'{{"consumer_set": "{name}"}}'}
            for name, at in (("late", 3), ("end", 9))]  # fmt: skip
    assert backlogs(told) == {TARGET: {"late": Start(3, False), "end": Start(9, False)}}


GROUP = "brokerlab-x-c01-r1-a1-late_g1"
SECOND_NS = 10**9


def going_on(per_s: int, seconds: int, first_s: float, rate: float) -> list[dict[str, Any]]:
    """rate_per_second of producers that send evenly, and of a group that begins to receive at `first_s` and takes `rate` a
    second until nothing is left, then what comes."""
    times = np.arange(0, seconds, 0.001)
    sent, got = per_s * times, np.zeros_like(times)
    for i in range(1, len(times)):
        got[i] = min(got[i - 1] + (rate * 0.001 if times[i] > first_s else 0), sent[i])
    rows = []
    for s in range(seconds):
        at = {"cell": "c01", "repeat": 1, "second_unix_s": s, "phase": "measure", "sent": 0, "received": 0}
        received = round(got[min(1000 * (s + 1), len(got) - 1)] - got[1000 * s])
        rows.append({**at, "role": "producer", "group": "", "sent": per_s, "bytes": 0})
        rows.append({**at, "role": "consumer", "group": GROUP, "received": received, "bytes": 100 * received})
        rows.append({**at, "role": "consumer", "group": "brokerlab-x-c01-r1-a1-tail_g1", "received": per_s, "bytes": 0})
    return rows


def test_a_set_that_starts_while_producers_go_on_has_the_rate_until_it_has_caught_up() -> None:
    rates = going_on(per_s=1000, seconds=30, first_s=10.25, rate=3000)
    found = [
        {"cell": "c01", "repeat": 1, "group": group, "received": 30_000,
         "first_mono_ns": first * SECOND_NS // 100, "last_mono_ns": 30 * SECOND_NS}
        for group, first in ((GROUP, 1025), ("brokerlab-x-c01-r1-a1-tail_g1", 1))
    ]  # fmt: skip
    (row,) = catch_up_rows(found, {TARGET: {"late": Start(95 * SECOND_NS // 10, False)}}, rates, {TARGET: 0})
    assert (row["group"], row["consumer_set"], row["while_sending"], row["reason"]) == (GROUP, "late", True, "")
    assert row["backlog"] == 9500
    assert row["waited_s"] == pytest.approx(0.75)
    # 10,250 messages behind at 10.25 s, 2,000 a second less: 100 behind (0.1 s) after 5.075 s
    assert row["took_s"] == pytest.approx(5.075, abs=0.02)
    assert row["received"] == pytest.approx(3 * 5075, rel=0.01)
    assert row["received_per_s"] == pytest.approx(3000, rel=0.01)
    assert row["received_bytes_per_s"] == pytest.approx(300_000, rel=0.01)


def test_a_set_that_never_catches_up_while_sending_has_the_rate_until_its_last_message() -> None:
    rates = going_on(per_s=1000, seconds=20, first_s=10, rate=1100)
    found = [{"cell": "c01", "repeat": 1, "group": GROUP, "received": 20_000, "first_mono_ns": 10 * SECOND_NS,
              "last_mono_ns": 28 * SECOND_NS}]  # fmt: skip
    (row,) = catch_up_rows(found, {TARGET: {"late": Start(9 * SECOND_NS, False)}}, rates, {TARGET: 0})
    assert (row["while_sending"], row["received"], row["took_s"]) == (False, 20_000, 18)
    assert row["received_per_s"] == pytest.approx(19_999 / 18)


def test_a_set_that_catches_up_within_a_second_has_no_rate_and_says_so() -> None:
    rates = going_on(per_s=1000, seconds=10, first_s=2.1, rate=1_000_000)
    found = [{"cell": "c01", "repeat": 1, "group": GROUP, "received": 10_000, "first_mono_ns": 21 * SECOND_NS // 10,
              "last_mono_ns": 10 * SECOND_NS}]  # fmt: skip
    (row,) = catch_up_rows(found, {TARGET: {"late": Start(2 * SECOND_NS, False)}}, rates, {TARGET: 0})
    assert (row["received_per_s"], row["reason"]) == (None, "it caught up within a second")


def test_figures_of_receiving_stay_where_another_set_tails() -> None:
    rates = [r for r in going_on(1000, 30, 10.25, 3000) if not r["group"].endswith("late_g1")]
    late = {"cell": "c01", "repeat": 1, "received_per_s": 3000.0}
    catch_up = [{**late, "consumer_set": "late"}, {**late, "consumer_set": "late"}, {**late, "consumer_set": "slow"}]
    found = figures(rates, [], [], [], catch_up=catch_up, tailing={"c01"})
    assert found["c01", "received_per_s"] == {1: pytest.approx(1000)}
    assert found["c01", "backlog_received_per_s"] == {1: pytest.approx(3000)}
