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
from brokerlab.pipeline.catch_up import backlogs, catch_up_rows
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
    made = catch_up_rows(found, {TARGET: SENT_NS}, rates)
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
        {TARGET: 0},
        [],
    )
    found = {metric for _, metric in figures(rates, [], [], [], catch_up=[row])}
    assert found == {"sent_per_s", "sent_bytes_per_s", "sent_peak_per_s", "sent_variation", "backlog_received_per_s"}


def test_what_arrived_at_one_instant_has_no_rate_and_says_so() -> None:
    found = [{"cell": "c01", "repeat": 1, "group": "g1", "received": 9, "first_mono_ns": 5, "last_mono_ns": 5}]
    (row,) = catch_up_rows(found, {TARGET: 1}, [])
    assert (row["received_per_s"], row["received_bytes_per_s"]) == (None, None)
    assert row["reason"] == "everything arrived at one instant"
    assert figures([], [], [], [], catch_up=[row]) == {}


def test_the_journal_says_whose_consumers_start_after_the_backlog() -> None:
    event = {"cell": "c01", "repeat": 1, "source": "runner", "detail": "{}"}
    assert backlogs([{**event, "kind": "backlog_complete", "at_mono_ns": 7}]) == {TARGET: 7}
    assert backlogs([{**event, "kind": "drain", "at_mono_ns": 7}]) == {}
