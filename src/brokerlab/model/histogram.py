"""The log-linear histogram of nanoseconds: exact to merge, bounded in value, the same integers everywhere.

index = (shift << BITS) + (value >> shift), shift = max(bit_length(value) - (BITS + 1), 0).
Values below 2^(BITS+1) have buckets of width 1; above, a bucket is at most 2^-BITS = 0.78 % of its value wide.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SUB_BUCKET_BITS = 7
LARGEST_NS = (1 << 42) - 1  # 73 minutes; larger samples are counted in the last bucket, `max` keeps the true value
BAND_BITS = 2  # heat maps: four bands per octave
BUCKETS = ((42 - SUB_BUCKET_BITS - 1) << SUB_BUCKET_BITS) + (1 << (SUB_BUCKET_BITS + 1))


def bucket_of(values_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Bucket numbers of non-negative values. Integers only: frexp is exact below 2^53."""
    v = np.minimum(values_ns, LARGEST_NS)
    _, exponent = np.frexp(v.astype(np.float64))
    shift = np.maximum(exponent.astype(np.int64) - (SUB_BUCKET_BITS + 1), 0)
    return ((shift << SUB_BUCKET_BITS) + (v >> shift)).astype(np.int32)


def lower_bound_ns(bucket: int, bits: int = SUB_BUCKET_BITS) -> int:
    """Smallest value that falls into the bucket."""
    shift = max((bucket >> bits) - 1, 0)
    return (bucket - (shift << bits)) << shift


def lower_bounds_ns(buckets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """lower_bound_ns of each bucket."""
    shift: npt.NDArray[np.int64] = np.maximum((buckets >> SUB_BUCKET_BITS) - 1, 0)
    return np.left_shift(buckets - (shift << SUB_BUCKET_BITS), shift)


def band_bounds_ns(band: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Smallest and largest value of each band (bucket >> SUB_BUCKET_BITS - BAND_BITS), from its first and last bucket."""
    fine = SUB_BUCKET_BITS - BAND_BITS
    return lower_bounds_ns(band << fine), lower_bounds_ns((band + 1) << fine) - 1


def upper_bound_ns(bucket: int, bits: int = SUB_BUCKET_BITS) -> int:
    """Largest value that falls into the bucket."""
    return lower_bound_ns(bucket + 1, bits) - 1


def printed_ns(quantile_ns: float, width_ns: int) -> int:
    """What a histogram whose buckets are so wide prints for a quantile of the same samples: the upper end of the bucket that
    holds it. Coarser buckets keep the order of samples, so the quantile of the finer histogram tells which bucket it is."""
    return (int(quantile_ns) // width_ns + 1) * width_ns


def quantile_ns(
    buckets: npt.NDArray[np.int32], counts: npt.NDArray[np.int64], q: float, largest_ns: int = LARGEST_NS
) -> int:
    """The upper bound of the bucket that holds the sample of rank ceil(q * n), at most `largest_ns`, which is the largest
    sample where it is known; 0 without samples.

    `buckets` ascending. The true sample is at most 0.78 % smaller.
    """
    total = int(counts.sum())
    if total == 0:
        return 0
    rank = max(1, int(np.ceil(q * total - 1e-9)))
    return min(upper_bound_ns(int(buckets[int(np.searchsorted(np.cumsum(counts), rank))])), largest_ns)
