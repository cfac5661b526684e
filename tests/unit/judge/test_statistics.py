from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from brokerlab.judge.statistics import median_interval, ratio_interval
from brokerlab.judge.summary import comparison, only_finished, run_summary
from brokerlab.model.environment import Environment
from brokerlab.model.metrics import FROM_SCHEDULE, MEASURES
from brokerlab.model.state import RunState
from synthetic import make_plan


def test_few_repeats_show_their_range() -> None:
    assert median_interval([3.0, 1.0, 2.0]) == (2.0, 1.0, 3.0)


def test_interval_is_the_same_every_time_and_holds_the_median() -> None:
    values = [10.0, 11.0, 9.0, 10.5, 9.5, 12.0]
    middle, low, high = median_interval(values)
    assert (middle, low, high) == median_interval(values)
    assert min(values) <= low < middle < high <= max(values)


def test_bootstrap_interval_holds_the_true_median_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    hits = [low <= 0.0 <= high for _ in range(60) for _, low, high in [median_interval(rng.normal(0, 1, 15).tolist())]]
    assert sum(hits) >= 50  # 57 expected at 95 %


def test_ratio_of_a_doubled_rate_is_two() -> None:
    a, b = [200.0, 202.0, 198.0, 201.0], [100.0, 101.0, 99.0, 100.5]
    ratio, low, high = ratio_interval(a, b)
    assert ratio == pytest.approx(2.0, rel=0.01)
    assert 1.9 < low <= ratio <= high < 2.1


def summary_of(values: dict[str, list[float]], metric: str = "sent_per_s") -> list[dict[str, Any]]:
    plan = make_plan("run", cells=2)
    levels = Environment.model_validate(
        {"cells": {"c01": {"durability": {"level": "L2"}}, "c02": {"durability": {"level": "L4"}}}}
    )
    return run_summary({(c, metric): dict(enumerate(v, 1)) for c, v in values.items()}, plan, levels)


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ([200.0, 202, 198, 201], [100.0, 101, 99, 100], "higher"),
        ([100.0, 101, 99, 100], [200.0, 202, 198, 201], "lower"),
        ([100.0, 120, 90, 105], [101.0, 118, 92, 104], "cannot tell"),
        ([200.0, 202, 198], [100.0, 101, 99], "cannot tell"),  # three a side can never be enough
    ],
)
def test_comparison_says_higher_lower_or_cannot_tell(a: list[float], b: list[float], answer: str) -> None:
    (row,) = comparison(summary_of({"c01": a, "c02": b}))
    assert row["answer"] == answer
    assert row["same_durability"] is False


@pytest.mark.parametrize("measure", MEASURES)
def test_every_latency_is_summarized_and_compared_from_the_scheduled_time_only(measure: str) -> None:
    summary = summary_of({"c01": [200.0, 202, 198, 201], "c02": [100.0, 101, 99, 100]}, f"{measure}_p99_ns")
    assert [row["median"] for row in summary] == [200.5, 100.0]
    assert len(comparison(summary)) == (measure in FROM_SCHEDULE)


def test_zero_has_no_ratio() -> None:
    assert comparison(summary_of({"c01": [0.0, 1.0], "c02": [1.0, 2.0]})) == []


def test_summary_leaves_out_unfinished_repeats_where_a_finished_one_exists() -> None:
    state = RunState.model_validate(
        {"executions": {"c01-r1": {"state": "finished"}, "c01-r2": {"state": "interrupted"}}}
    )
    figures = {("c01", "x"): {1: 1.0, 2: 9.0}, ("c02", "x"): {1: 5.0}}
    assert only_finished(figures, state) == {("c01", "x"): {1: 1.0}, ("c02", "x"): {1: 5.0}}
