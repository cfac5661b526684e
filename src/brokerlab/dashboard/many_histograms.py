"""Many sparse histograms at once, as columns: a history of an hour has ten thousand of them, too many to go through one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from brokerlab.model.histogram import (
    BAND_BITS,
    BUCKETS,
    LARGEST_NS,
    SUB_BUCKET_BITS,
    band_bounds_ns,
    lower_bounds_ns,
)

Int64s = npt.NDArray[np.int64]
_BAND_SHIFT = SUB_BUCKET_BITS - BAND_BITS


@dataclass(frozen=True)
class ManyHistograms:
    """Histograms numbered from 0, none of them empty: `of` says which histogram a bucket belongs to, ascending, buckets ascending in it."""

    of: Int64s
    buckets: Int64s
    counts: Int64s

    @staticmethod
    def merged(of: Int64s, buckets: Int64s, counts: Int64s) -> ManyHistograms:
        """From buckets in any order, each any number of times."""
        both, place = np.unique(of * BUCKETS + buckets, return_inverse=True)
        return ManyHistograms(both // BUCKETS, both % BUCKETS, _sums(place, counts, len(both)))

    @cached_property
    def _begins(self) -> Int64s:
        return np.flatnonzero(np.diff(self.of, prepend=-1)).astype(np.int64)

    def totals(self) -> Int64s:
        return np.add.reduceat(self.counts, self._begins)

    def each(self) -> Iterator[tuple[Int64s, Int64s]]:
        """Buckets and counts of each histogram."""
        return zip(split(self.buckets, self._begins), split(self.counts, self._begins), strict=True)

    def quantiles_ns(self, q: float) -> Int64s:
        """model.histogram.quantile_ns of each."""
        along, totals = np.cumsum(self.counts), self.totals()
        ranks = np.maximum(1, np.ceil(q * totals - 1e-9).astype(np.int64))
        found = self.buckets[np.searchsorted(along, along[self._begins] - self.counts[self._begins] + ranks)]
        return np.minimum(lower_bounds_ns(found + 1) - 1, LARGEST_NS)

    def bands(self) -> tuple[Int64s, Int64s, Int64s, Int64s, Int64s]:
        """Columns: which histogram, band, its smallest and largest value, and how many samples are in it."""
        both, place = np.unique(self.of * BUCKETS + (self.buckets >> _BAND_SHIFT), return_inverse=True)
        lower, upper = band_bounds_ns(both % BUCKETS)
        return both // BUCKETS, both % BUCKETS, lower, upper, _sums(place, self.counts, len(both))


def split(values: Int64s, begins: Int64s) -> list[Int64s]:
    """Parts of the last axis, the first from begins[0] = 0; without the checks of np.split, which take longer than very many parts."""
    bounds = [*begins.tolist(), values.shape[-1]]
    return [values[..., a:b] for a, b in pairwise(bounds)]


def _sums(place: Int64s, counts: Int64s, length: int) -> Int64s:
    """Exact for counts of any size, which a bincount with weights is not."""
    sums = np.zeros(length, np.int64)
    np.add.at(sums, place, counts)
    return sums
