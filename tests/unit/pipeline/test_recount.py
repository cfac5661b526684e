"""The second way of counting: against plain Python on the same messages, and against a planted error."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from brokerlab.evidence.tables import MESSAGE
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.histogram import bucket_of
from brokerlab.pipeline.recount import Counting, recount_rows, recounted

WHERE = {"run": "r", "cell": "c01", "repeat": 1, "host": "h", "agent": "a"}
EXECUTION = ExecutionId(cell="c01", repeat=1)


def messages(seed: int, span: int) -> list[dict[str, Any]]:
    """Two lanes and two groups with every kind of trouble; numbers spread over `span`, so over several bitmaps."""
    rng = np.random.default_rng(seed)
    rows = []
    for lane in ((0, 0), (1, 3)):
        numbers = np.sort(rng.choice(span, 3000, replace=False))
        outcomes = rng.choice(["acknowledged", "rejected", "unknown"], 3000, p=[0.9, 0.06, 0.04])
        due = rng.integers(0, 10**12, 3000)
        base = {**WHERE, "producer": lane[0], "partition": lane[1], "ordinal": 0}
        for n, outcome, at in zip(numbers.tolist(), outcomes.tolist(), due.tolist(), strict=True):
            times = {"scheduled_mono_ns": at, "at_mono_ns": at + int(10 ** rng.uniform(0, 11))}
            rows.append({**base, "kind": "send", "group": "", "sequence": n, "outcome": outcome, **times})
        for group, kept in (("g1", 0.95), ("g2", 0.8 if lane == (0, 0) else 0.0)):
            seen = numbers[rng.random(3000) < kept]
            for n in [*seen.tolist(), *seen[: len(seen) // 10].tolist()]:
                times = {"scheduled_mono_ns": 5, "at_mono_ns": 5 + int(rng.integers(-3, 2**43))}
                rows.append({**base, "kind": "delivery", "group": group, "sequence": n, "outcome": "received", **times})
    return [rows[i] for i in rng.permutation(len(rows))]


def told(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `delivery`, counted with sets."""

    def keys(**where: str) -> list[tuple[int, int, int]]:
        return [
            (r["producer"], r["partition"], r["sequence"]) for r in rows if all(r[k] == v for k, v in where.items())
        ]

    acknowledged, rejected = keys(outcome="acknowledged"), keys(outcome="rejected")
    made = []
    for group in ("g1", "g2"):
        received = keys(group=group)
        made.append(
            {"cell": "c01", "repeat": 1, "group": group, "acknowledged": len(set(acknowledged)), "unexpected": 0,
             "rejected": len(set(rejected) - set(acknowledged)), "received": len(received),
             "duplicated": len(received) - len(set(received)), "lost": len(set(acknowledged) - set(received))}
        )  # fmt: skip
    return made


def histograms(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of latency_histogram, split over two phases, from numpy's buckets."""
    made = []
    for measure, group, of in (
        ("publish_latency", "", [r for r in rows if r["outcome"] == "acknowledged"]),
        *(("end_to_end_latency", g, [r for r in rows if r["group"] == g]) for g in ("g1", "g2")),
    ):
        values = np.array([r["at_mono_ns"] - r["scheduled_mono_ns"] for r in of])
        for phase, part in zip(("warm_up", "measure"), np.array_split(values[values >= 0], 2), strict=True):
            counts = Counter(bucket_of(part).tolist())
            made.append({"cell": "c01", "repeat": 1, "phase": phase, "measure": measure, "group": group,
                         "bucket": sorted(counts), "count": [counts[b] for b in sorted(counts)]})  # fmt: skip
    return made


def again(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As two tasks count them, one of them in two blocks."""
    table = pa.Table.from_pylist(rows, arrow_schema(MESSAGE))
    first, second = Counting(), Counting()
    for counting, part in ((first, table[:4000]), (first, table[4000:7000]), (second, table[7000:])):
        counting.add(part)
    found: list[dict[str, Any]] = recounted(pa.concat_tables([first.rows(), second.rows()])).to_pylist()
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_single_messages_give_the_same_counts_and_the_same_buckets(seed: int) -> None:
    rows = messages(seed, span=200_000)
    found = recount_rows(again(rows), told(rows), histograms(rows), [EXECUTION])
    assert {(r["figure"], r["group"]) for r in found} >= {
        ("lost", "g2"),
        ("publish_latency", ""),
        ("end_to_end_latency", "g1"),
    }
    assert len(found) == 2 * 5 + 3
    assert [r for r in found if r["difference"]] == []
    assert all(r["by_message"] == r["as_told"] for r in found)
    lost = {r["group"]: r["by_message"] for r in found if r["figure"] == "lost"}
    assert lost["g2"] > 2700 > lost["g1"] > 0, "a lane of which a group got nothing is lost as a whole"
    assert recount_rows(again(rows), told(rows), histograms(rows), []) == []


def test_one_message_that_is_missing_or_in_another_bucket_is_a_difference() -> None:
    rows = messages(3, span=5000)
    counted = again(rows)
    wrong = told(rows)
    wrong[0]["lost"] += 1
    found = {
        (r["figure"], r["group"]): r["difference"] for r in recount_rows(counted, wrong, histograms(rows), [EXECUTION])
    }
    assert {key for key, difference in found.items() if difference} == {("lost", "g1")}
    moved = histograms(rows)
    moved[0]["bucket"] = [*moved[0]["bucket"][:-1], moved[0]["bucket"][-1] + 1]
    found = {(r["figure"], r["group"]): r["difference"] for r in recount_rows(counted, told(rows), moved, [EXECUTION])}
    assert {key for key, difference in found.items() if difference} == {("publish_latency", "")}


def test_numbers_that_were_never_sent_are_not_compared_as_duplicates() -> None:
    rows = messages(4, span=5000)
    strange = [row | {"unexpected": 3} for row in told(rows)]
    found = recount_rows(again(rows), strange, histograms(rows), [EXECUTION])
    assert "duplicated" not in {r["figure"] for r in found}
