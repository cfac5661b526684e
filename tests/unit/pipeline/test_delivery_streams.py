"""Ranges against messages: hypothesis draws streams, one Spark query judges them all, brute force counts each."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession
from streams import STREAMS, WORDS, Stream, counted

from brokerlab.evidence.tables import ACTIVITY, OUTCOME, SEQUENCE
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Table
from brokerlab.pipeline.delivery import delivery, lanes, lost_range
from brokerlab.pipeline.executions import ExecutionFacts, facts_table
from synthetic import runs_of

DRAWN = 150


def drawn_streams() -> list[Stream]:
    found: list[Stream] = []

    @settings(
        max_examples=DRAWN, database=None, derandomize=True, phases=[Phase.generate], deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(STREAMS)
    def collect(stream: Stream) -> None:
        found.append(stream)

    collect()
    return found


def table(rows: list[dict[str, Any]], of: Table) -> pa.Table:
    return pa.Table.from_pylist([{"host": "", **row} for row in rows], arrow_schema(of))


def evidence(streams: list[Stream]) -> tuple[pa.Table, pa.Table]:
    """Stream i is cell i. All times are equal: only ordinals tell the order."""
    runs, ranges = [], []
    for i, stream in enumerate(streams):
        lane = {"run": "r", "cell": f"c{i}", "repeat": 1, "agent": "a", "producer": 0, "partition": 0}
        ranges.append({**lane, "first": 0, "last": len(stream.outcomes) - 1, "outcome": "sent"})
        for word in WORDS[:3]:
            for first, last in runs_of([s for s, w in enumerate(stream.outcomes) if w == word]):
                ranges.append({**lane, "first": first, "last": last, "outcome": word})
        for consumer, arrivals in enumerate(stream.arrivals):
            for ordinal, (first, last) in enumerate(runs_of(list(arrivals))):
                runs.append(
                    {**lane, "group": "g", "consumer": consumer, "epoch": 0, "first": first, "last": last,
                     "first_mono_ns": 1, "last_mono_ns": 1, "ordinal": ordinal, "redelivered": 0,
                     "first_position": -1, "last_position": -1}
                )  # fmt: skip
    return table(runs[::-1], SEQUENCE), table(ranges[::-1], OUTCOME)  # order of rows must not matter


@pytest.fixture(scope="module")
def judged(spark: SparkSession) -> tuple[list[Stream], list[dict[str, Any]], list[dict[str, Any]]]:
    streams = drawn_streams()
    runs, ranges = evidence(streams)
    facts = [ExecutionFacts(f"c{i}", 1, "g", whole=s.whole, drained=s.whole) for i, s in enumerate(streams)]
    sequence, accounted = spark.createDataFrame(runs), spark.createDataFrame(facts_table(facts))
    made = lanes(sequence, spark.createDataFrame(ranges), accounted).cache()
    rows = delivery(made, spark.createDataFrame(table([], ACTIVITY)), accounted)
    return streams, rows.toArrow().to_pylist(), lost_range(made).toArrow().to_pylist()


def test_ranges_give_the_counts_of_single_messages(judged: Any) -> None:
    streams, rows, _ = judged
    found = {r["cell"]: r for r in rows}
    wrong = []
    for i, stream in enumerate(streams):
        expected = counted(stream)
        got = {k: found[f"c{i}"][k] for k in expected}
        if got != expected:
            wrong.append((stream, {k: (got[k], expected[k]) for k in got if got[k] != expected[k]}))
    assert wrong == []
    assert len(streams) >= DRAWN // 2
    assert sum(counted(s)["reordered"] > 0 for s in streams) > 20
    assert sum(counted(s)["lost"] > 0 for s in streams) > 20


def test_every_delivery_is_a_first_one_a_repeat_or_unexpected(judged: Any) -> None:
    for row in judged[1]:
        assert row["received"] == row["delivered"] + row["duplicated"] + row["unexpected"]
        assert row["sent"] == row["acknowledged"] + row["rejected"] + row["unknown"]


def test_lost_ranges_are_disjoint_and_joined(judged: Any) -> None:
    streams, _, ranges = judged
    for i, stream in enumerate(streams):
        of = sorted((r["first"], r["last"]) for r in ranges if r["cell"] == f"c{i}")
        here = {s for arrivals in stream.arrivals for s in arrivals}
        assert of == runs_of([s for s, w in enumerate(stream.outcomes) if w == "acknowledged" and s not in here])


def test_runs_marked_as_redelivered_are_no_reordering(spark: SparkSession) -> None:
    runs, ranges = evidence([Stream(("acknowledged",) * 6, ((0, 1, 4, 5, 2, 3),), True)])
    marked = [r | {"redelivered": 2 if r["first"] == 2 else 0} for r in runs.to_pylist()]
    facts = spark.createDataFrame(facts_table([ExecutionFacts("c0", 1, "g", whole=True, drained=True)]))
    counts = []
    for rows in (runs.to_pylist(), marked):
        sequence = spark.createDataFrame(table(rows, SEQUENCE))
        made = lanes(sequence, spark.createDataFrame(ranges), facts)
        (row,) = delivery(made, spark.createDataFrame(table([], ACTIVITY)), facts).collect()
        counts.append((row["reordered"], row["redelivered"]))
    assert counts == [(2, 0), (0, 2)]
