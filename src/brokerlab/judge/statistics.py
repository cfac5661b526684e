"""Intervals over repeats. The unit is the repeat: seconds within one are not independent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

SEED = 20260101  # fixed: the same evidence gives the same interval
DRAWS = 10_000
FEWEST_FOR_INTERVAL = 5
LEVELS = (2.5, 97.5)

Floats = npt.NDArray[np.float64]


def _medians(values: Floats, rng: np.random.Generator) -> Floats:
    drawn = values[rng.integers(0, len(values), (DRAWS, len(values)))]
    medians: Floats = np.median(drawn, axis=1)
    return medians


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """(median, low, high): percentile bootstrap at 95 %; smallest and largest value with fewer than five."""
    array = np.asarray(values, np.float64)
    middle = float(np.median(array))
    if len(array) < FEWEST_FOR_INTERVAL:
        return middle, float(array.min()), float(array.max())
    low, high = np.percentile(_medians(array, np.random.default_rng(SEED)), LEVELS)
    return middle, float(low), float(high)
