"""Histograms added up in numpy against the raw samples, sorted."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerlab.model.histogram import (
    BAND_BITS,
    BUCKETS,
    band_bounds_ns,
    bucket_of,
    lower_bound_ns,
    lower_bounds_ns,
    upper_bound_ns,
)
from brokerlab.model.quantiles import SHARES
from brokerlab.pipeline.latency import PHASE_KEY, SECOND_KEY, merging
from brokerlab.pipeline.merging import bands, merge, quantiles_ns

_SAMPLES = st.lists(st.integers(0, 1 << 40), max_size=60)
_HISTOGRAMS = st.lists(st.tuples(st.integers(0, 3), _SAMPLES), max_size=8)  # (owner, samples) of each agent and second


@settings(max_examples=300, deadline=None)
@given(_HISTOGRAMS)
def test_quantiles_are_those_of_all_samples_of_an_owner(histograms: list[tuple[int, list[int]]]) -> None:
    owner, bucket, count = [], [], []
    for who, samples in histograms:
        numbers, times = np.unique(bucket_of(np.array(samples, np.int64)), return_counts=True)
        owner += [who] * len(numbers)
        bucket += numbers.tolist()
        count += times.tolist()
    merged = merge(np.array(owner, np.int64), 4, np.array(bucket, np.int64), np.array(count, np.int64))
    assert len(merged) == 4
    for who in range(4):
        samples = sorted(s for w, some in histograms if w == who for s in some)
        begin, end = merged.offsets[who], merged.offsets[who + 1]
        assert merged.count[begin:end].sum() == len(samples)
        assert (np.diff(merged.bucket[begin:end]) > 0).all()
        for q in SHARES.values():
            rank = max(1, math.ceil(q * len(samples) - 1e-9))
            of_rank = bucket_of(np.array(samples[rank - 1 : rank], np.int64))
            largest = np.array(
                [max((s for w, some in histograms if w == o for s in some), default=0) for o in range(4)]
            )
            bound = min(upper_bound_ns(int(of_rank[0])), samples[-1]) if samples else 0
            assert quantiles_ns(merged, q, largest)[who] == bound
    coarse = bands(merged)
    assert (
        np.bincount(coarse.owner(), coarse.count, 4).tolist() == np.bincount(merged.owner(), merged.count, 4).tolist()
    )


def test_bounds_of_arrays_are_those_of_single_buckets() -> None:
    assert lower_bounds_ns(np.arange(BUCKETS)).tolist() == [lower_bound_ns(b) for b in range(BUCKETS)]


def test_bands_follow_each_other_without_gap_four_to_an_octave() -> None:
    lower, upper = band_bounds_ns(np.arange(100))
    assert (upper[:-1] + 1 == lower[1:]).all()
    octave = 1 << BAND_BITS
    assert lower[40 + octave] == 2 * lower[40]
    assert lower[60 + octave] == 2 * lower[60]


def test_a_second_with_only_negative_samples_leaves_the_phases_smallest_sample_alone() -> None:
    key = {"cell": "c01", "repeat": 1, "phase": "measure", "measure": "end_to_end_latency", "group": "g"}
    bucket = int(bucket_of(np.array([5000]))[0])
    figures = {"negative": 0, "min_ns": 5000, "max_ns": 5001, "sum_ns": 10_001}
    some = key | {"second_unix_s": 1, "buckets": [bucket], "counts": [2]} | figures
    none = key | {
        "second_unix_s": 2,
        "buckets": [],
        "counts": [],
        "negative": 3,
        "min_ns": None,
        "max_ns": None,
        "sum_ns": 0,
    }
    types = {
        "buckets": pa.list_(pa.int32()),
        "counts": pa.list_(pa.int64()),
        "min_ns": pa.int64(),
        "max_ns": pa.int64(),
    }
    schema = pa.schema(
        [(name, types.get(name, pa.string() if isinstance(v, str) else pa.int64())) for name, v in some.items()]
    )
    seconds = merging(SECOND_KEY)(pa.Table.from_pylist([some, none], schema))
    assert [(r["count"], r["negative"], r["min_ns"]) for r in seconds.to_pylist()] == [(2, 0, 5000), (0, 3, None)]
    (phase,) = merging(PHASE_KEY)(seconds).to_pylist()
    assert (phase["count"], phase["negative"], phase["min_ns"], phase["max_ns"]) == (2, 3, 5000, 5001)
    assert phase["mean_ns"] == 5000.5
