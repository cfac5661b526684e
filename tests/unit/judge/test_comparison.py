"""The answers of the table `comparison`."""

from __future__ import annotations

from typing import Any

import pytest

from brokerlab.judge.comparison import comparison
from brokerlab.model.environment import Environment
from brokerlab.model.metrics import FROM_SCHEDULE, MEASURES
from brokerlab.model.plan import RunPlan, SmallestDifference
from synthetic import make_plan

LEVELS = Environment.model_validate(
    {"cells": {"c01": {"durability": {"level": "L2"}}, "c02": {"durability": {"level": "L4"}}}}
)
STEADY = [100.0, 101, 99, 100]


def rows_of(values: dict[str, list[float]], metric: str = "sent_per_s", **more: Any) -> list[dict[str, Any]]:
    plan: RunPlan = make_plan("run", cells=len(values)).model_copy(update=more.pop("plan", {}))
    return comparison({(c, metric): dict(enumerate(v, 1)) for c, v in values.items()}, plan, LEVELS, **more)


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ([200.0, 202, 198, 201], STEADY, "higher"),
        (STEADY, [200.0, 202, 198, 201], "lower"),
        (STEADY, [1000.0, 900, 1500, 1100], "lower"),  # tenfold, noisy
        ([100.0, 120, 90, 105], [101.0, 90, 112, 104], "cannot tell"),
        ([10_000.0, 10_001, 9_999, 10_000], [10_000.0, 10_000, 10_000, 10_001], "same"),
        (
            [10_091.0, 10_099, 10_109, 10_101],
            [10_000.0, 10_001, 9_999, 10_000],
            "same",
        ),  # surely 1 %, not worth calling
        ([200.0, 202, 198], [100.0, 101, 99], "cannot tell"),
    ],
)
def test_an_answer_is_higher_lower_same_or_cannot_tell(a: list[float], b: list[float], answer: str) -> None:
    (row,) = rows_of({"c01": a, "c02": b})
    assert row["answer"] == answer
    assert (row["reason"] == "") == (answer != "cannot tell")
    assert row["same_durability"] is False


def test_three_repeats_are_too_few_and_the_reason_says_so() -> None:
    (row,) = rows_of({"c01": [200.0, 202, 198], "c02": [100.0, 101, 99]})
    assert row["reason"] == "repeats that both have: 3, needed: 4"
    assert row["low"] < row["ratio"] < row["high"]


def test_latencies_have_their_own_smallest_difference_and_a_workload_may_set_both() -> None:
    values = {"c01": [103.0, 103.1, 102.9, 103], "c02": [100.0, 100.1, 99.9, 100]}
    assert [r["answer"] for r in rows_of(values)] == ["higher"]
    assert [r["answer"] for r in rows_of(values, "publish_latency_p99_ns")] == ["same"]
    finer = {"smallest_difference": SmallestDifference(rates=0.1, latencies=0.01)}
    assert [r["answer"] for r in rows_of(values, plan=finer)] == ["same"]
    (row,) = rows_of(values, "publish_latency_p99_ns", plan=finer)
    assert (row["answer"], row["smallest_difference"]) == ("higher", 0.01)


def test_a_sure_difference_that_may_be_too_small_is_not_called() -> None:
    (row,) = rows_of({"c01": [101.3, 101.6, 101.9, 101.0], "c02": [100.0, 100.1, 99.9, 100.0]})
    assert 1 < row["low"] < row["ratio"] < 1.02 < row["high"]
    assert row["answer"] == "cannot tell"
    assert "perhaps by less than" in row["reason"]


def test_a_cell_that_is_not_believed_gets_no_answer_and_does_not_disturb_the_others() -> None:
    values = {"c01": [200.0, 202, 198, 201], "c02": STEADY, "c03": [1.0, 900, 30, 5]}
    doubted = rows_of(values, believes=lambda cell, _metric: cell != "c03")
    assert {(r["cell_a"], r["cell_b"]): r["answer"] for r in doubted} == {
        ("c01", "c02"): "higher", ("c01", "c03"): "cannot tell", ("c02", "c03"): "cannot tell",
    }  # fmt: skip
    assert {r["reason"] for r in doubted if r["cell_b"] == "c03"} == {"the verdict on c03 is not valid"}
    (alone,) = rows_of({cell: values[cell] for cell in ("c01", "c02")})
    assert doubted[0] == alone


def test_zero_has_no_ratio_and_counts_of_faults_are_not_compared() -> None:
    assert rows_of({"c01": [0.0, 1.0], "c02": [1.0, 2.0]}) == []
    assert rows_of({"c01": [1.0, 1.0], "c02": [1.0, 2.0]}, "lost") == []


@pytest.mark.parametrize("measure", MEASURES)
def test_latencies_are_compared_from_the_scheduled_time_only(measure: str) -> None:
    rows = rows_of({"c01": [200.0, 202, 198, 201], "c02": STEADY}, f"{measure}_p99_ns")
    assert len(rows) == (measure in FROM_SCHEDULE)


def test_rows_are_in_the_order_of_the_plan() -> None:
    rows = rows_of({"c01": STEADY, "c02": STEADY, "c03": STEADY})
    assert [(r["cell_a"], r["cell_b"]) for r in rows] == [("c01", "c02"), ("c01", "c03"), ("c02", "c03")]
