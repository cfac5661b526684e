"""Units as written and as shown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.model import quantities as q


@pytest.mark.parametrize(
    ("text", "rate"),
    [("20_000/s", 20_000), ("1.5k/s", 1500), ("1M/s", 1e6), ("0.5/s", 0.5), ("7 /s", 7), ("20_000 /s", 20_000)],
)
def test_rates_are_read_with_their_unit(text, rate):
    assert q.parse_rate_per_s(text) == rate
    assert re.match(q.RATE_PATTERN, text)


@pytest.mark.parametrize("text", ["20000", 20000, "20/m", "/s", "fast", "-3/s", "1K/s", "1e3/s", True])
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(ValueError, match="must be a rate such as"):
        q.parse_rate_per_s(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("1KiB", 1024), ("1KB", 1000), ("1kB", 1000), ("200B", 200), (512, 512), ("1_000", 1000), ("1.5 MiB", 1572864)],
)
def test_sizes_are_read(text, size):
    assert q.parse_bytes(text) == size


@pytest.mark.parametrize("text", ["1Kib", "1 kilobyte", "", "-1", True, 1.5, "0.3B"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="must be a"):
        q.parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("500ms", 0.5), ("2min", 120), ("1h", 3600), ("250us", 0.00025), ("1.5 s", 1.5), (0, 0), ("0", 0)],
)
def test_durations_are_read(text, seconds):
    assert q.parse_duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["30", 30, "5m", "1 day", "", False])
def test_a_duration_without_a_known_unit_is_refused(text):
    with pytest.raises(ValueError, match="must be a duration such as 30s"):
        q.parse_duration_s(text)


@pytest.mark.parametrize(("text", "share"), [("2%", 0.02), ("0.5 %", 0.005), ("100%", 1), ("0%", 0)])
def test_shares_are_read(text, share):
    assert q.parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["2", 2, 0.02, "2 percent", "-1%", "%", "", True])
def test_a_share_without_its_unit_is_refused(text):
    with pytest.raises(ValueError, match="must be a percentage such as 2%"):
        q.parse_share(text)


def test_plain_numbers_take_underscores_but_no_unit():
    assert q.parse_number("20_000") == 20_000
    assert q.parse_number(3) == 3
    for wrong in ("3s", "x", True):
        with pytest.raises(ValueError, match="must be a"):
            q.parse_number(wrong)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (q.format_rate(20_000), "20,000/s"),
        (q.format_rate(0.5), "0.5/s"),
        (q.format_rate(10_000 / 3), "3,333/s"),
        (q.format_bytes(1024), "1 KiB"),
        (q.format_bytes(200), "200 B"),
        (q.format_bytes(1_500_000), "1.43 MiB"),
        (q.format_bytes(150 << 30), "150 GiB"),
        (q.format_value(12_345_678, "ns"), "12.3 ms"),
        (q.format_value(20_000, "1/s"), "20,000/s"),
        (q.format_value(1536, "B/s"), "1.5 KiB/s"),
        (q.format_value(0.25, "cores"), "0.25 cores"),
        (q.format_value(3, "1"), "3"),
        (q.format_duration_ns(12_345_678), "12.3 ms"),
        (q.format_duration_ns(999_999), "1 ms"),
        (q.format_duration_ns(850_000), "850 µs"),
        (q.format_duration_ns(0), "0 ns"),
        (q.format_duration_s(2.5), "2.5 s"),
        (q.format_duration_s(200), "3 min 20 s"),
        (q.format_duration_s(7200), "2 h"),
        (q.format_count(1234567), "1,234,567"),
    ],
)
def test_quantities_are_shown_for_people(shown, text):
    assert shown == text


@given(st.integers(1, 10**7))
def test_a_shown_whole_rate_without_its_commas_is_read_back(rate):
    assert q.parse_rate_per_s(q.format_rate(rate).replace(",", "_")) == rate
