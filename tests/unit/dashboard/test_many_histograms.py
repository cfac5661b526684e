"""Many histograms as columns say what each of them says alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.dashboard.many_histograms import ManyHistograms
from brokerlab.model.histogram import BAND_BITS, BUCKETS, SUB_BUCKET_BITS, band_bounds_ns, quantile_ns

Samples = dict[int, int]  # bucket -> how often
SAMPLES = st.dictionaries(st.integers(0, BUCKETS - 1), st.integers(1, 2**40), min_size=1, max_size=6)


def merged(samples: list[Samples], seed: int) -> ManyHistograms:
    """Each count in two parts, in any order."""
    rows = [(i, b, part) for i, of in enumerate(samples) for b, n in of.items() for part in (n // 2, n - n // 2)]
    np.random.default_rng(seed).shuffle(rows)
    of, buckets, counts = np.array(rows, np.int64).T
    return ManyHistograms.merged(of, buckets, counts)


@given(st.lists(SAMPLES, min_size=1, max_size=8), st.integers(0, 1000), st.sampled_from((0.0, 0.5, 0.99, 1.0)))
def test_each_histogram_total_and_quantile_is_that_of_its_samples(samples: list[Samples], seed: int, q: float) -> None:
    found = merged(samples, seed)
    assert [dict(zip(b.tolist(), n.tolist(), strict=True)) for b, n in found.each()] == samples
    assert found.totals().tolist() == [sum(of.values()) for of in samples]
    alone = [
        quantile_ns(np.array(sorted(of), np.int32), np.array([of[b] for b in sorted(of)], np.int64), q)
        for of in samples
    ]
    assert found.quantiles_ns(q).tolist() == alone


@given(st.lists(SAMPLES, min_size=1, max_size=8), st.integers(0, 1000))
def test_bands_have_every_sample_once(samples: list[Samples], seed: int) -> None:
    expected: dict[tuple[int, int], int] = {}
    for i, of in enumerate(samples):
        for bucket, n in of.items():
            band = bucket >> (SUB_BUCKET_BITS - BAND_BITS)
            expected[i, band] = expected.get((i, band), 0) + n
    of_, bands, lower, upper, counts = (column.tolist() for column in merged(samples, seed).bands())
    assert dict(zip(zip(of_, bands, strict=True), counts, strict=True)) == expected
    bounds = [tuple(int(b[0]) for b in band_bounds_ns(np.array([band], np.int64))) for band in bands]
    assert list(zip(lower, upper, strict=True)) == bounds
