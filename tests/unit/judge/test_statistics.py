from __future__ import annotations

import numpy as np

from brokerlab.judge.statistics import median_interval


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
