"""Numbers of claims as people read them."""

from __future__ import annotations

import pytest

from brokerlab.judge.claim_text import number, quantity, range_text, unit_of


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1.005, "1.005"), (0.965, "0.965"), (0.9996, "1"), (1.0, "1"), (1.36, "1.36"), (0.042, "0.042"),
        (23_400.4, "23,400"), (-0.5, "-0.5"), (0.0, "0"), (151.26, "151"),
    ],
)  # fmt: skip
def test_numbers_have_three_significant_digits_and_three_decimals_near_one(value: float, said: str) -> None:
    assert number(value) == said


@pytest.mark.parametrize(
    ("measure", "unit"),
    [
        ("level(postgresql, end_to_end_latency_p95_ns)", "ns"),
        ("bucketed(postgresql-few, publish_latency_p95_ns, 50ms)", "ns"),
        ("overhead(kafka, stored_bytes_per_message)", "B"),
        ("level(a, received_per_sent)", ""),
        ("ratio(a, b, publish_latency_p99_ns)", ""),
        ("during(a, publish_latency_p99_ns, 8s to 14s, 3s to 8s)", ""),
        ("share(a, sent_per_s, configured)", ""),
        ("all(level(a, sent_per_s) > 1, level(b, sent_per_s) > 1)", ""),
    ],
)
def test_only_measures_of_one_figure_have_a_unit(measure: str, unit: str) -> None:
    assert unit_of(measure) == unit


def test_quantities_and_ranges_carry_the_unit() -> None:
    assert quantity(36_010_309, "ns") == "36 ms"
    assert quantity(9.6, "B") == "9.6 B"
    assert quantity(1.36, "") == "1.36"
    assert range_text("at least 1_000_000_000", "ns") == "at least 1 s"
    assert range_text("47_500_000 to 50_000_000", "ns") == "47.5 ms to 50 ms"
    assert range_text("at most 20", "B") == "at most 20 B"
    assert range_text("0.95 to 1.05", "") == "0.95 to 1.05"
