from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brokerlab.judge.student import two_sided_chance, two_sided_limit

TABLE = [  # (degrees, chance on both sides together, limit) of printed tables
    (1, 0.05, 12.706), (2, 0.05, 4.303), (3, 0.10, 2.353), (3, 0.05, 3.182), (3, 0.01, 5.841), (3, 0.001, 12.924),
    (4, 0.05, 2.776), (5, 0.01, 4.032), (7, 0.05, 2.365), (10, 0.05, 2.228), (15, 0.001, 4.073), (30, 0.05, 2.042),
    (60, 0.01, 2.660), (120, 0.05, 1.980),
]  # fmt: skip


@pytest.mark.parametrize(("degrees", "chance", "limit"), TABLE)
def test_limits_are_those_of_printed_tables(degrees: int, chance: float, limit: float) -> None:
    assert two_sided_limit(chance, degrees) == pytest.approx(limit, abs=0.0005)


def finite_sum(t: float, degrees: int) -> float:
    """The same chance by Abramowitz and Stegun 26.7.3 and 26.7.4: elementary for whole degrees of freedom."""
    angle = math.atan(t / math.sqrt(degrees))
    terms, term = 0.0, math.cos(angle) if degrees % 2 else 1.0
    for k in range(3 if degrees % 2 else 2, degrees + 1, 2):
        terms += term
        term *= math.cos(angle) ** 2 * (k - 1) / k
    inside = 2 / math.pi * (angle + math.sin(angle) * terms) if degrees % 2 else math.sin(angle) * terms
    return 1 - inside


@given(st.floats(0.01, 50), st.integers(1, 60))
def test_whole_degrees_of_freedom_agree_with_the_finite_sum(t: float, degrees: int) -> None:
    assert two_sided_chance(t, degrees) == pytest.approx(finite_sum(t, degrees), abs=1e-12)


@given(st.floats(1e-6, 0.999), st.floats(1, 200))
def test_the_limit_is_exceeded_with_its_chance(chance: float, degrees: float) -> None:
    assert two_sided_chance(two_sided_limit(chance, degrees), degrees) == pytest.approx(chance, rel=1e-6)


@example(1.192092896e-07, 44.0, 8.0)
@given(st.floats(0, 40), st.floats(1, 50), st.floats(0.01, 10))
def test_more_degrees_of_freedom_never_make_a_far_value_likelier(t: float, degrees: float, more: float) -> None:
    assert two_sided_chance(t, degrees + more) <= two_sided_chance(t, degrees) + 1e-12


def test_nothing_is_beyond_infinity_and_everything_beyond_zero() -> None:
    assert two_sided_chance(math.inf, 3) == 0
    assert two_sided_chance(0, 3) == 1
