from __future__ import annotations

import pytest

from brokerlab.cli.text import aligned, bytes_text, count_text, duration_text, latency_text, latency_unit


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [
        (0, "0 ns"), (850, "850 ns"), (1_000, "1.00 µs"), (999_900, "1.00 ms"), (1_234_567, "1.23 ms"),
        (12_345_678, "12.3 ms"), (123_456_789, "123 ms"), (2_100_000_000, "2.10 s"),
    ],
)  # fmt: skip
def test_latencies_read_in_the_unit_that_fits(value_ns: float, text: str) -> None:
    assert latency_text(value_ns) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (20_000.4, "20,000"), (12.34, "12.3"), (0.123, "0.12"), (7.0, "7")]
)
def test_counts_have_decimals_only_where_they_matter(value: float, text: str) -> None:
    assert count_text(value) == text


@pytest.mark.parametrize(("value", "text"), [(10, "10 B"), (2048, "2.0 KiB"), (5 * 2**30, "5.0 GiB")])
def test_bytes(value: float, text: str) -> None:
    assert bytes_text(value) == text


@pytest.mark.parametrize(("seconds", "text"), [(42, "42 s"), (60, "1 min"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_columns_stand_under_each_other() -> None:
    assert aligned([["a", "1"], ["bbb", "22"]], right=[1]) == ["a     1", "bbb  22"]
    assert aligned([]) == []


@pytest.mark.parametrize(
    ("values_ns", "unit"),
    [([13e6, 1.76e9], "ms"), ([8e5, 2e6], "µs"), ([8e5, 5e9], "ms"), ([None, 2e9], "s"), ([0.0], "ns"), ([], "ns")],
)
def test_a_column_has_one_unit_in_which_small_and_large_can_be_read(values_ns: list[float | None], unit: str) -> None:
    assert latency_unit(values_ns) == unit
