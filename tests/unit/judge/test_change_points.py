"""Change points against oracles that share no code with them, and how often steady series change."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks import history as simulation
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.judge import change_points as module
from brokerlab.judge.change_points import ALARMS, FEWEST, LONGEST, SHORTEST, change_points

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def _at(values: Floats, **options: float) -> list[int]:
    return [p.at for p in change_points(np.exp(values).tolist(), **options)]  # type: ignore[arg-type]


def _levels(rng: np.random.Generator, noise: float, *stretches: tuple[int, float]) -> Floats:
    return np.concatenate([level + rng.normal(0, noise, n) for n, level in stretches])


def _t_squared(inside: list[float], outside: list[float]) -> float:
    """Student's, of two groups with one variance, as textbooks write it."""
    a, b = len(inside), len(outside)
    mean_a, mean_b = sum(inside) / a, sum(outside) / b
    pooled = (sum((x - mean_a) ** 2 for x in inside) + sum((x - mean_b) ** 2 for x in outside)) / (a + b - 2)
    return math.inf if pooled == 0 else (mean_a - mean_b) ** 2 / (pooled * (1 / a + 1 / b))


@given(st.lists(st.floats(-5, 5), min_size=9, max_size=20, unique=True))
def test_the_clearest_step_and_stretch_are_those_with_the_largest_t(values: list[float]) -> None:
    n, logs = len(values), np.array(values)
    _, at = module._step(logs)
    steps = {k: _t_squared(values[:k], values[k:]) for k in range(SHORTEST, n - SHORTEST + 1)}
    assert steps[at] == pytest.approx(max(steps.values()), rel=1e-6)
    _, begin, end = module._stretch(logs)
    stretches = {
        (i, j): _t_squared(values[i:j], values[:i] + values[j:])
        for i in range(SHORTEST, n - 2 * SHORTEST + 1)
        for j in range(i + SHORTEST, n - SHORTEST + 1)
    }
    assert stretches[begin, end] == pytest.approx(max(stretches.values()), rel=1e-6)


@given(st.lists(st.floats(-5, 5), min_size=9, max_size=16, unique=True), st.randoms(use_true_random=False))
def test_many_orders_at_once_are_as_clear_as_one_by_one(values: list[float], random: object) -> None:
    rows = np.array([random.sample(values, len(values)) for _ in range(5)])  # type: ignore[attr-defined]
    assert module._steps(rows) == pytest.approx([module._step(row)[0] for row in rows])
    assert module._stretches(rows) == pytest.approx([module._stretch(row)[0] for row in rows])


def test_the_chance_of_a_short_series_is_that_of_counting_all_orders() -> None:
    """Four low and four high values: of 8! orders, 2 x 4! x 4! keep them apart."""
    values = [0.0, 0.01, 0.02, 0.03, 1.0, 1.01, 1.02, 1.03]
    (found,) = change_points(np.exp(values).tolist())
    assert found.at == 4
    assert found.chance == pytest.approx(2 * math.factorial(4) ** 2 / math.factorial(8))


def test_the_sampled_chance_agrees_with_counting_all_orders() -> None:
    """Four low and five high values: of 9! orders, 2 x 4! x 5! keep them apart."""
    values = np.array([0.0, 0.01, 0.02, 0.03, 1.0, 1.01, 1.02, 1.03, 1.04])
    exact = 2 * math.factorial(4) * math.factorial(5) / math.factorial(9)
    seen, at = module._step(values)
    assert at == 4
    assert module._chance(values, seen, module._steps, exact / 4) == pytest.approx(exact, rel=0.25)


def _optimal_cuts(values: Floats, count: int) -> list[int]:
    """The cuts of the least squared error, by dynamic programming over all segmentations."""
    n = len(values)

    def error(i: int, j: int) -> float:
        return float(((values[i:j] - values[i:j].mean()) ** 2).sum())

    best: dict[tuple[int, int], tuple[float, list[int]]] = {(0, j): (error(0, j), []) for j in range(SHORTEST, n + 1)}
    for k in range(1, count + 1):
        for j in range((k + 1) * SHORTEST, n + 1):
            tried = [
                (best[k - 1, i][0] + error(i, j), [*best[k - 1, i][1], i])
                for i in range(k * SHORTEST, j - SHORTEST + 1)
            ]
            best[k, j] = min(tried)
    return best[count, n][1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "stretches",
    [
        ((20, 0.0), (15, 0.25)),
        ((18, 0.0), (12, 0.25), (10, 0.0)),
        ((20, 0.0), (5, 0.4), (20, 0.0)),
        ((12, 0.0), (12, 0.3), (12, 0.6), (12, 0.2)),
    ],
)
def test_changes_are_where_the_best_of_all_segmentations_has_them(
    seed: int, stretches: tuple[tuple[int, float], ...]
) -> None:
    values = _levels(np.random.default_rng(seed), 0.04, *stretches)
    assert _at(values, smallest=0.05) == _optimal_cuts(values, len(stretches) - 1)


def test_ratio_and_direction_are_those_of_the_two_stretches() -> None:
    values = _levels(np.random.default_rng(1), 0.02, (12, 0.0), (12, math.log(0.8)))
    (found,) = change_points(np.exp(values).tolist())
    assert found.ratio == pytest.approx(math.exp(values[12:].mean() - values[:12].mean()))
    assert 0.77 < found.ratio < 0.83


def test_the_newest_three_runs_are_enough_after_a_long_steady_time() -> None:
    assert _at(_levels(np.random.default_rng(1), 0.03, (20, 0.0), (3, 0.2))) == [20]


def test_one_or_two_odd_runs_are_no_change() -> None:
    for odd in (1, 2):
        values = _levels(np.random.default_rng(3), 0.03, (15, 0.0), (odd, 1.0), (15, 0.0))
        assert _at(values) == []


def test_steps_that_are_not_worth_calling_are_left_out() -> None:
    values = _levels(np.random.default_rng(4), 0.002, (15, 0.0), (15, math.log(1.03)), (15, math.log(1.4)))
    assert _at(values) == [15, 30]
    assert _at(values, smallest=0.05) == [30]


def test_too_short_a_series_has_no_change_points() -> None:
    assert _at(np.array([0.0] * 3 + [5.0] * (FEWEST - 4))) == []
    assert _at(np.zeros(0)) == []


def test_equal_values_do_not_change() -> None:
    assert _at(np.zeros(30)) == []


def test_of_a_very_long_series_the_latest_part_is_looked_at() -> None:
    rng = np.random.default_rng(5)
    values = _levels(rng, 0.03, (20, 1.0), (LONGEST - 50, 0.0), (60, 0.2))
    assert _at(values) == [LONGEST - 30]


def test_many_series_together_need_clearer_changes() -> None:
    values = np.array([0.0, 0.01, 0.02, 0.03, 1.0, 1.01, 1.02, 1.03])
    assert _at(values) == [4]
    assert _at(values, series=2) == []


@pytest.mark.parametrize("noise", simulation.STEADY)
def test_steady_series_rarely_change(noise: str) -> None:
    """5 % are promised. Of 200 series of exactly 5 %, more than 10 % show one once in a thousand tries; the seed is fixed."""
    assert simulation.alarm_share(noise, 16, 200) <= 2 * ALARMS


def test_the_benchmark_makes_its_tables() -> None:
    text = simulation.main(["--series", "2"])
    assert [line for line in text.splitlines() if line.startswith("| normal |")]
    assert [line for line in text.splitlines() if line.startswith("| 3%, 10% |")]
