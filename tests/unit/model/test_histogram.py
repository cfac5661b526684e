from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.model.histogram import LARGEST_NS, bucket_of, quantile_ns


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
