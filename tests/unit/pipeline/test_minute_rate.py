"""The one-minute rate against a meter written after Yammer's source, ticking in nanoseconds, and in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from brokerlab.pipeline.minute_rate import minute_rate_rows, one_minute_rate, sliding_minute
from synthetic import SyntheticRun

Rows = Callable[[str], list[dict[str, Any]]]


class YammerMeter:
    """com.yammer.metrics.core.Meter with its EWMA of one minute: ticks are made up for when it is marked or read."""

    TICK_NS = 5 * 10**9

    def __init__(self) -> None:
        self.last_ns = self.uncounted = 0
        self.rate: float | None = None

    def mark(self, now_ns: int) -> None:
        self._tick_if_necessary(now_ns)
        self.uncounted += 1

    def read(self, now_ns: int) -> float:
        self._tick_if_necessary(now_ns)
        return (self.rate or 0.0) * 1e9

    def _tick_if_necessary(self, now_ns: int) -> None:
        age = now_ns - self.last_ns
        if age > self.TICK_NS:
            self.last_ns = now_ns - age % self.TICK_NS
            for _ in range(age // self.TICK_NS):
                instant, self.uncounted = self.uncounted / self.TICK_NS, 0
                if self.rate is None:
                    self.rate = instant
                else:
                    self.rate += (1 - math.exp(-5 / 60)) * (instant - self.rate)


def test_the_rate_is_that_of_a_yammer_meter_that_was_there_before_the_load() -> None:
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 200, 150)
    meter = YammerMeter()
    load_ns = 6 * YammerMeter.TICK_NS
    assert meter.read(load_ns - 1) == 0.0
    found = one_minute_rate(counts)
    for second, n in enumerate(counts.tolist()):
        for at in np.sort(rng.integers(1, 10**9, n)).tolist():
            meter.mark(load_ns + second * 10**9 + at)
        assert found[second] == pytest.approx(meter.read(load_ns + (second + 1) * 10**9 + 1)), second


def test_a_steady_rate_is_approached_as_the_exponential_says() -> None:
    found = one_minute_rate(np.full(180, 1000))
    assert found[3] == 0.0
    for ticks in (1, 12, 36):
        assert found[5 * ticks - 1] == pytest.approx(1000 * (1 - math.exp(-5 * ticks / 60)))


def test_the_plain_minute_is_the_mean_of_the_last_60_seconds_once_there_are_so_many() -> None:
    counts = np.random.default_rng(5).integers(0, 99, 130)
    found = sliding_minute(counts)
    assert np.isnan(found[:59]).all()
    assert found[59:] == pytest.approx([counts[i - 59 : i + 1].mean() for i in range(59, 130)])
    assert np.isnan(sliding_minute(counts[:59])).all()


def row(second: int, sent: int) -> dict[str, Any]:
    return {"cell": "c01", "repeat": 1, "second_unix_s": second, "phase": "measure", "role": "producer", "group": "",
            "sent": sent, "received": 0}  # fmt: skip


def test_silent_seconds_count_and_the_brokers_rate_is_added_over_nodes_that_were_all_read() -> None:
    rates = [row(100, 0), row(101, 50), row(101, 50), row(104, 20), row(106, 5)]
    own = [{"cell": "c01", "repeat": 1, "second_unix_s": s, "subject": f"broker:k-{n}", "value": float(n),
            "metric": "messages_in_one_minute_rate"} for n, s in ((1, 101), (2, 101), (1, 102))]  # fmt: skip
    found = minute_rate_rows(rates, own)
    assert [(r["second_unix_s"], r["per_s"]) for r in found] == [
        (101, 100),
        (102, 0),
        (103, 0),
        (104, 20),
        (105, 0),
        (106, 5),
    ]
    assert [r["broker_one_minute_per_s"] for r in found] == [3.0, None, None, None, None, None]
    assert found[4]["one_minute_per_s"] == found[5]["one_minute_per_s"] == pytest.approx(24 * (1 - math.exp(-1 / 12)))
    assert minute_rate_rows([row(100, 0)], own) == []


def test_the_table_of_a_run_has_both_series_and_its_last_second_is_in_the_summary(
    rows: Rows, synthetic: SyntheticRun
) -> None:
    found = rows("minute_rate")
    assert {(r["cell"], r["repeat"]) for r in found} == set(synthetic.truth)
    assert {r["series"] for r in found} == {"sent", "received"}
    summary = {r["metric"]: r for r in rows("run_summary") if r["cell"] == "c01"}
    weight = 1 - math.exp(-1 / 12)  # the last whole second is the ninth: one tick of 1,000 messages a second
    assert summary["sent_one_minute_per_s"]["values"] == pytest.approx([1000 * weight] * 2)
    assert "broker_one_minute_per_s" not in summary
