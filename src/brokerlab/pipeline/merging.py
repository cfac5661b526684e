"""Histograms of many agents and seconds added up, with their quantiles. Plain numpy; Spark brings the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brokerlab.model.blocks import Int64s
from brokerlab.model.histogram import BAND_BITS, BUCKETS, SUB_BUCKET_BITS, lower_bounds_ns


@dataclass(frozen=True)
class Histograms:
    """Histogram i has bucket[offsets[i] : offsets[i + 1]], ascending, with the counts at the same places."""

    offsets: Int64s
    bucket: Int64s
    count: Int64s

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def counted(self) -> Int64s:
        """Samples before each histogram and, last, of all: with differences those of each."""
        return np.concatenate([[0], np.cumsum(self.count)])[self.offsets]

    def owner(self) -> Int64s:
        """The histogram each bucket belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))


def merge(owner: Int64s, owners: int, bucket: Int64s, count: Int64s) -> Histograms:
    """Add up counts by (owner, bucket), in any order; owners are 0 .. owners - 1, and some may have no bucket."""
    counted = count > 0
    place = owner[counted] * BUCKETS + bucket[counted]
    order = np.argsort(place, kind="stable")
    place, count = place[order], count[counted][order]
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    place, count = place[starts], np.add.reduceat(count, starts) if len(starts) else count
    offsets = np.searchsorted(place, np.arange(owners + 1) * BUCKETS)
    return Histograms(offsets, place % BUCKETS, count)


def quantiles_ns(histograms: Histograms, q: float, largest_ns: Int64s) -> Int64s:
    """Of each histogram the upper bound of the bucket that holds the sample of rank ceil(q x n), but at most its largest
    sample: a bucket is wider than what is in it. 0 without samples."""
    counted = histograms.counted()
    samples = np.diff(counted)
    rank = np.maximum(np.ceil(q * samples - 1e-9).astype(np.int64), 1)
    holder = np.searchsorted(np.cumsum(histograms.count), counted[:-1] + rank)
    some = samples > 0
    found = np.zeros(len(histograms), np.int64)
    found[some] = np.minimum(lower_bounds_ns(histograms.bucket[holder[some]] + 1) - 1, largest_ns[some])
    return found


def bands(histograms: Histograms) -> Histograms:
    """The same samples in coarse bands, numbered bucket >> (SUB_BUCKET_BITS - BAND_BITS)."""
    coarse = histograms.bucket >> (SUB_BUCKET_BITS - BAND_BITS)
    return merge(histograms.owner(), len(histograms), coarse, histograms.count)
