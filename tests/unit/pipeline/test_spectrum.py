"""Percentiles of the spectrum against sorted samples, and its steps against HdrHistogram's published output."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from brokerlab.model.histogram import bucket_of, upper_bound_ns
from brokerlab.pipeline.spectrum import percentiles
from synthetic import SyntheticRun

Rows = Callable[[str], list[dict[str, Any]]]


def test_steps_are_those_of_hdrhistogram() -> None:
    """The first column of its `outputPercentileDistribution` with 5 ticks per half distance."""
    assert list(percentiles(1000)[:17]) == [
        0, 10, 20, 30, 40, 50, 55, 60, 65, 70, 75, 77.5, 80, 82.5, 85, 87.5, 88.75,
    ]  # fmt: skip
    assert percentiles(1000)[-1] == 100
    assert 99.8 < percentiles(1000)[-2] <= 99.9
    assert percentiles(1) == (0.0, 100.0)


def test_every_value_is_that_of_the_sorted_samples(rows: Rows, synthetic: SyntheticRun) -> None:
    found = rows("latency_spectrum")
    keys = {(r["cell"], r["repeat"], r["measure"]) for r in found}
    assert len(keys) == 2 * 3 * 5  # cells x (two repeats and both) x measures
    for cell, repeat, measure in keys:
        mine = [r for r in found if (r["cell"], r["repeat"], r["measure"]) == (cell, repeat, measure)]
        repeats = [repeat] if repeat else [1, 2]
        samples = np.sort(np.concatenate([synthetic.truth[cell, r].latencies_ns[measure, "measure"] for r in repeats]))
        assert [r["percentile"] for r in mine] == list(percentiles(len(samples)))
        for row in mine:
            rank = max(1, math.ceil(row["percentile"] / 100 * len(samples) - 1e-9))
            bound = upper_bound_ns(int(bucket_of(samples[rank - 1 : rank])[0]))
            assert row["value_ns"] == min(bound, samples[-1])
            assert row["samples"] == np.searchsorted(samples, bound, side="right")
        assert mine[-1]["value_ns"] == samples[-1]
