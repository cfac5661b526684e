"""Numbers as people read them."""

from __future__ import annotations

import pytest

from brokerlab.report import figures


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (7, "7.00 ns"),
        (950, "950 ns"),
        (12_345, "12.3 µs"),
        (12_345_678, "12.3 ms"),
        (999_999, "1.00 ms"),
        (1_500_000_000, "1.50 s"),
        (120e9, "2.00 min"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_a_duration_has_three_digits_and_the_unit_that_fits(ns: float | None, text: str) -> None:
    assert figures.duration(ns) == text


@pytest.mark.parametrize(("value", "text"), [(20_000, "20,000/s"), (1234.56, "1,235/s"), (0.5, "0.500/s"), (0, "0/s")])
def test_a_rate_separates_thousands(value: float, text: str) -> None:
    assert figures.rate(value) == text


def test_what_is_short_of_the_whole_never_reads_as_100_percent() -> None:
    assert figures.percent(0.99999) == "99.9 %"
    assert figures.percent(1.0) == "100.0 %"


def test_rounding_up_does_not_add_a_digit() -> None:
    assert figures.significant(9.996) == "10.0"
    assert figures.significant(0.09996) == "0.100"


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("end_to_end_latency_p99_ns", 12_300_000, "12.3 ms"),
        ("sent_bytes_per_s", 3 << 20, "3.00 MiB/s"),
        ("received_per_s", 20_000, "20,000/s"),
        ("agent_cpu_cores", 0.5, "0.50 cores"),
        ("lost", 1234, "1,234"),
    ],
)
def test_the_metric_decides_the_unit(metric: str, value: float, text: str) -> None:
    assert figures.quantity(metric, value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (6.95325e10, "B", "64.8 GiB"),
        (2048, "B/s", "2.00 KiB/s"),
        (0.0125, "s", "12.5 ms"),
        (3.5, "ms", "3.50 ms"),
        (1.5, "cores", "1.50 cores"),
        (1_234_567, "1", "1,234,567"),
        (0.333333, "1", "0.333"),
        (12_345.6, "1/s", "12,346/s"),
        (87.654, "%", "87.7 %"),
        (float("nan"), "B", "–"),
        (float("inf"), "1", "–"),
        (None, "1", "–"),
    ],
)
def test_a_reading_is_shown_in_a_unit_that_fits(value: float | None, unit: str, text: str) -> None:
    assert figures.reading(value, unit) == text


def test_metric_names_are_words() -> None:
    assert figures.metric_name("end_to_end_latency_p999_ns") == "end-to-end latency p99.9"
    assert figures.metric_name("publish_latency_from_send_p50_ns") == "publish latency from send p50"
    assert figures.metric_name("received_per_s") == "received rate"
