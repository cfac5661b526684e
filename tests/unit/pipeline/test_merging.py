"""Histograms added up in numpy against the raw samples, sorted."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerlab.model.histogram import BUCKETS, bucket_of, lower_bound_ns, lower_bounds_ns, upper_bound_ns
from brokerlab.pipeline.merging import BAND_BITS, QUANTILES, band_bounds_ns, bands, merge, quantiles_ns

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
        for q in QUANTILES.values():
            rank = max(1, math.ceil(q * len(samples) - 1e-9))
            of_rank = bucket_of(np.array(samples[rank - 1 : rank], np.int64))
            assert quantiles_ns(merged, q)[who] == (upper_bound_ns(int(of_rank[0])) if samples else 0)
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
