"""By what factor do cells differ, and how sure is it? docs/statistics.md has the method, and what was done to check it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from brokerlab.judge.estimates import Difference, Estimate, corrected

MUCH_QUIETER = 0.01  # share of the pooled variance: such a pair is of another kind, and the other cells do not matter
_PASSES = 100  # of taking out cells and repeats; one is enough without gaps

Floats = npt.NDArray[np.float64]


def differences(values: Mapping[str, Mapping[int, float]]) -> list[Difference]:
    """Of every two cells that share a repeat, in one metric. `values` are by cell and repeat, all above zero."""
    return corrected(estimates(values))


def estimates(values: Mapping[str, Mapping[int, float]]) -> list[Estimate]:
    """The same before any answer is drawn from it.

    The model is log(value) = cell + repeat + noise. Ratios are taken within a repeat, so what happened to all of it
    cancels out. The noise of a ratio is that of its own pairs or the mean of all pairs of cells, whichever is larger.
    """
    cells = [cell for cell in values if values[cell]]
    repeats = sorted({repeat for cell in cells for repeat in values[cell]})
    logs = np.array([[math.log(values[c][r]) if r in values[c] else math.nan for r in repeats] for c in cells])
    ratios = {(a, b): _present(logs[a] - logs[b]) for a, b in combinations(range(len(cells)), 2)}
    pooled = _pooled_variance(list(ratios.values()))
    noisy = _cells_that_make_the_noise(logs) if ratios else 1.0
    return [_estimate(cells[a], cells[b], r, pooled, noisy) for (a, b), r in ratios.items() if len(r)]


def _estimate(cell_a: str, cell_b: str, ratios: Floats, pooled: float, noisy: float) -> Estimate:
    """`noisy` multiplies the degrees of freedom of one pair where the noise of all cells counts."""
    own = _variance(ratios)
    alone = own < MUCH_QUIETER * pooled
    variance = own if alone else max(own, pooled)
    degrees = (len(ratios) - 1) * (1.0 if alone else noisy)
    return Estimate(
        cell_a, cell_b, len(ratios), float(ratios.mean()), math.sqrt(variance / len(ratios)), degrees
    )  # fmt: skip


def _pooled_variance(ratios: Sequence[Floats]) -> float:
    """Mean of the variances of all pairs; without gaps that is twice the residual variance of the model."""
    degrees = [max(len(r) - 1, 0) for r in ratios]
    return sum(d * _variance(r) for d, r in zip(degrees, ratios, strict=True)) / max(sum(degrees), 1)


def _variance(numbers: Floats) -> float:
    return float(numbers.var(ddof=1)) if len(numbers) > 1 else 0.0


def _cells_that_make_the_noise(logs: Floats) -> float:
    """How many independent sources of equal noise would look like this: 1 where one cell makes all of it.

    Greenhouse and Geisser's (1959) correction of degrees of freedom: square of the sum of the residuals' eigenvalues, by
    the sum of their squares. It never exceeds cells - 1 or repeats - 1.
    """
    residuals = logs.copy()
    for _ in range(_PASSES if np.isnan(logs).any() else 1):
        residuals -= np.nanmean(residuals, axis=1, keepdims=True)
        residuals -= np.nanmean(residuals, axis=0, keepdims=True)
    residuals = np.nan_to_num(residuals)
    products = residuals.T @ residuals
    squares = float((products**2).sum())
    return float(np.trace(products)) ** 2 / squares if squares > 0 else 1.0


def _present(numbers: Floats) -> Floats:
    return numbers[~np.isnan(numbers)]
