from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.model.histogram import LARGEST_NS, bucket_of, printed_ns, quantile_ns


@given(st.lists(st.integers(0, LARGEST_NS), min_size=1, max_size=50), st.floats(0.01, 1))
def test_a_quantile_lies_within_one_bucket_of_its_sample_and_never_above_the_largest(
    samples: list[int], q: float
) -> None:
    buckets, counts = np.unique(bucket_of(np.array(samples, np.int64)), return_counts=True)
    found = quantile_ns(buckets, counts, q, max(samples))
    sample = sorted(samples)[max(1, int(np.ceil(q * len(samples) - 1e-9))) - 1]
    assert sample <= found <= sample * (1 + 2**-7)
    assert found <= max(samples)


def test_the_last_quantile_of_few_samples_is_the_largest_sample_itself() -> None:
    buckets, counts = np.unique(bucket_of(np.array([1_000_003, 9_600_001])), return_counts=True)
    assert quantile_ns(buckets, counts, 0.999, 9_600_001) == 9_600_001
    assert quantile_ns(buckets, counts, 0.999) > 9_600_001


@given(
    st.lists(st.integers(0, 2_000_000_000), min_size=1, max_size=80),
    st.sampled_from([0.5, 0.95, 0.99]),
    st.sampled_from([1_000_000, 50_000_000]),
)
def test_what_coarse_buckets_print_is_what_a_histogram_of_the_samples_prints(
    samples: list[int], q: float, width_ns: int
) -> None:
    """The oracle sorts the samples into wide buckets and counts up to the quantile's rank."""
    counted = np.bincount(np.array(samples, np.int64) // width_ns)
    rank = max(1, int(np.ceil(q * len(samples) - 1e-9)))
    expected = (int(np.searchsorted(np.cumsum(counted), rank)) + 1) * width_ns
    buckets, counts = np.unique(bucket_of(np.array(samples, np.int64)), return_counts=True)
    fine = quantile_ns(buckets, counts, q, max(samples))
    sample = sorted(samples)[rank - 1]
    if fine // width_ns == sample // width_ns:  # else a fine bucket, 0.78 % wide, lies across the edge of a wide one
        assert printed_ns(fine, width_ns) == expected
    else:
        assert fine % width_ns <= 0.0079 * fine
        assert printed_ns(fine, width_ns) == expected + width_ns * (fine // width_ns - sample // width_ns)
