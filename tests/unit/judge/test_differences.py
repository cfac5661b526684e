"""Differences between cells against formulas written independently, and the promises that hold whatever the values."""

from __future__ import annotations

import math
import statistics
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerlab.judge.differences import differences
from brokerlab.judge.estimates import ALARMS, Difference

LIMIT_3_DEGREES = 3.481909  # Student, 4 % on both sides together
Values = dict[str, dict[int, float]]


def cells(*rows: list[float]) -> Values:
    return {f"c{i:02d}": dict(enumerate(row, 1)) for i, row in enumerate(rows, 1)}


def by_pair(values: Values) -> dict[tuple[str, str], Difference]:
    return {(d.cell_a, d.cell_b): d for d in differences(values)}


def test_two_cells_are_compared_by_the_paired_t_interval_of_log_ratios() -> None:
    a, b = [102.0, 99.0, 104.0, 101.0], [51.0, 48.0, 53.0, 50.0]
    (found,) = differences(cells(a, b))
    logs = [math.log(x / y) for x, y in zip(a, b, strict=True)]
    mean, reach = statistics.mean(logs), LIMIT_3_DEGREES * statistics.stdev(logs) / 2
    assert found.ratio == pytest.approx(math.exp(mean))
    assert found.interval == pytest.approx((math.exp(mean - reach), math.exp(mean + reach)), rel=1e-6)
    assert found.pairs == 4


def test_several_cells_share_their_noise_and_holm_corrects_their_chances() -> None:
    """Oracle: residual mean square of cell + repeat, Greenhouse and Geisser's epsilon from the cells' covariances,
    Student's density integrated numerically, Holm's steps as in a textbook."""
    rng = np.random.default_rng(3)
    logs = rng.normal(0, 0.05, (5, 6)) + rng.normal(0, 0.5, 6)
    logs[1] = logs[0] + 0.001 * rng.normal(size=6)  # a pair far quieter than the others is judged by itself
    logs[2] += 0.2
    count, repeats = logs.shape
    residuals = logs - logs.mean(1)[:, None] - logs.mean(0) + logs.mean()
    mean_square = (residuals**2).sum() / ((count - 1) * (repeats - 1))
    centre = np.eye(count) - 1 / count
    eigenvalues = np.linalg.eigvalsh(centre @ np.cov(logs) @ centre)
    epsilon = eigenvalues.sum() ** 2 / ((count - 1) * (eigenvalues**2).sum())
    shared_degrees = epsilon * (count - 1) * (repeats - 1)

    chances, widths = {}, {}
    for a, b in combinations(range(count), 2):
        ratios = logs[a] - logs[b]
        quiet = (a, b) == (0, 1)
        variance = ratios.var(ddof=1) if quiet else max(ratios.var(ddof=1), 2 * mean_square)
        error, degrees = math.sqrt(variance / repeats), repeats - 1 if quiet else shared_degrees
        chances[a, b] = student_chance(abs(ratios.mean()) / error, degrees)
        widths[a, b] = 2 * error, degrees
    found = {(int(a[1:]) - 1, int(b[1:]) - 1): d for (a, b), d in by_pair(cells(*np.exp(logs).tolist())).items()}
    so_far, level = 0.0, ALARMS / len(chances)
    for left, pair in zip(range(len(chances), 0, -1), sorted(chances, key=chances.__getitem__), strict=True):
        level = ALARMS / left if so_far <= ALARMS else level
        so_far = max(so_far, min(1.0, chances[pair] * left))
        low, high = found[pair].interval or (0, 0)
        assert found[pair].chance == pytest.approx(so_far, abs=1e-4)
        assert student_chance(math.log(high / low) / widths[pair][0], widths[pair][1]) == pytest.approx(level, rel=1e-2)
    assert {d.significant for d in found.values()} == {True, False}


def student_chance(t: float, degrees: float) -> float:
    """Both tails, by the trapezoidal rule."""
    x = np.tan(np.linspace(math.atan(t), math.pi / 2 - 1e-6, 200_001))  # dense near t, reaches far
    log_scale = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - math.log(degrees * math.pi) / 2
    density = np.exp(log_scale - (degrees + 1) / 2 * np.log1p(x * x / degrees))
    return float((density[1:] + density[:-1]) @ np.diff(x))


def test_a_slow_repeat_that_slows_all_cells_does_not_matter() -> None:
    even = cells([100.0, 101, 99, 100], [110.0, 112, 109, 111])
    uneven = {c: {r: v / 3 if r == 2 else v for r, v in of.items()} for c, of in even.items()}
    (before,), (after,) = differences(even), differences(uneven)
    assert after.ratio == pytest.approx(before.ratio)
    assert after.interval == pytest.approx(before.interval)


def test_repeats_that_one_cell_lacks_are_left_out_for_its_pairs_only() -> None:
    values = cells([10.0, 11, 10, 12, 11], [20.0, 21, 19, 22, 20], [30.0, 31, 30, 29, 32])
    del values["c02"][3]
    found = by_pair(values)
    assert {pair: d.pairs for pair, d in found.items()} == {("c01", "c02"): 4, ("c01", "c03"): 5, ("c02", "c03"): 4}
    expected = math.exp(statistics.mean(math.log(values["c01"][r] / values["c02"][r]) for r in (1, 2, 4, 5)))
    assert found["c01", "c02"].ratio == pytest.approx(expected)


def test_three_pairs_have_an_interval_but_are_never_significant() -> None:
    (found,) = differences(cells([1000.0, 1001, 1000], [1.0, 1, 1]))
    assert found.interval is not None
    assert found.chance is None
    assert not found.significant


def test_one_pair_has_a_ratio_only_and_none_has_nothing() -> None:
    (found,) = differences({"c01": {1: 3.0, 2: 5.0}, "c02": {2: 10.0, 3: 1.0}})
    assert (found.pairs, found.ratio, found.interval) == (1, pytest.approx(0.5), None)
    assert differences({"c01": {1: 3.0}, "c02": {2: 10.0}}) == []
    assert differences({"c01": {1: 3.0}}) == []
    assert differences({}) == []


def test_values_without_any_noise_are_equal_or_surely_different() -> None:
    found = by_pair(cells([5.0] * 4, [5.0] * 4, [10.0] * 4))
    assert found["c01", "c02"].interval == (1.0, 1.0)
    assert not found["c01", "c02"].significant
    assert found["c01", "c03"].significant


def test_a_noisy_cell_does_not_hide_that_two_others_hold_their_rate() -> None:
    found = by_pair(
        cells([10_000.0, 10_001, 10_000, 9_999], [10_000.0, 10_000, 10_001, 9_999], [4_000.0, 9_000, 2_000, 7_000])
    )
    low, high = found["c01", "c02"].interval or (0, 0)
    assert 0.999 < low < 1 < high < 1.001


POSITIVE = st.floats(1e-3, 1e9)
TABLES = st.integers(2, 6).flatmap(
    lambda repeats: st.lists(st.lists(POSITIVE, min_size=repeats, max_size=repeats), min_size=2, max_size=5)
)


@settings(deadline=None)
@given(TABLES, st.floats(0.1, 10))
def test_units_do_not_matter_and_interval_and_significance_agree(rows: list[list[float]], factor: float) -> None:
    plain = differences(cells(*rows))
    scaled = differences(cells(*[[factor * v for v in row] for row in rows]))
    for one, other in zip(plain, scaled, strict=True):
        assert other.ratio == pytest.approx(one.ratio, rel=1e-6)
        low, high = one.interval or (0, math.inf)
        assert low <= one.ratio * (1 + 1e-9)
        assert one.ratio <= high * (1 + 1e-9)
        if one.significant:
            assert not low < 1 < high
        elif one.chance is not None:
            assert low <= 1 <= high


@settings(deadline=None)
@given(TABLES)
def test_turning_the_cells_round_turns_the_ratios_round(rows: list[list[float]]) -> None:
    there, back = by_pair(cells(*rows)), by_pair(dict(reversed(cells(*rows).items())))
    for (a, b), one in there.items():
        other = back[b, a]
        assert one.ratio * other.ratio == pytest.approx(1, rel=1e-9)
        assert one.chance == (None if other.chance is None else pytest.approx(other.chance, rel=1e-6, abs=1e-9))
