"""By what factor does a candidate differ from a base, how sure is it, and how many repeats would tell?

docs/comparing.md has the method. A contrast has its own noise alone, of two runs too; `differences` asks about every two cells
of one run in one metric and pools the noise of all of them. Both are corrected by `estimates.corrected`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import harmonic_mean

import numpy as np

from brokerlab.judge.estimates import ALARMS, Estimate
from brokerlab.judge.student import two_sided_limit
from brokerlab.results.tables import FEWEST_FOR_CLAIM

MOST_REPEATS = 10_000  # beyond this many the number is of no use
MISSED = 0.2  # chance with which a true difference may be missed by the number of repeats that `repeats_to_tell` gives


@dataclass(frozen=True)
class Contrast:
    """An estimate of candidate / base, and what further repeats would make of it: with n repeats on each side (n pairs) its
    error would be sqrt(variance / n), with (n - 1) x sources degrees of freedom."""

    estimate: Estimate
    variance: float
    sources: float

    @classmethod
    def of(cls, n: int, mean: float, error: float, degrees: float, *, variance: float, sources: float) -> Contrast:
        """`n` are pairs, or values on the side that has fewer."""
        return cls(Estimate("candidate", "base", n, mean, error, degrees), variance, sources)


def paired(base: Mapping[int, float], candidate: Mapping[int, float]) -> Contrast | None:
    """Values above zero, by round of one run: what happened to a whole round cancels out. None without a common round."""
    rounds = sorted(base.keys() & candidate.keys())
    if not rounds:
        return None
    logs = np.log([candidate[r] / base[r] for r in rounds])
    variance = float(logs.var(ddof=1)) if len(logs) > 1 else 0.0
    n = len(rounds)
    error = math.sqrt(variance / n)
    return Contrast.of(n, float(logs.mean()), error, n - 1.0, variance=variance, sources=1.0)


def unpaired(base: Sequence[float], candidate: Sequence[float]) -> Contrast | None:
    """Welch's test of the logarithms of values above zero that have nothing to do with each other. None without values.

    The degrees of freedom are the harmonic mean of Welch's and the fewest there can be, those of the smaller side alone.
    Welch's are an estimate that is too high just when a noisy side looks quiet by chance; with 4 repeats and many tests that
    gave alarms in 8 of 100 comparisons where one side has ten times the noise of the other.
    """
    if not base or not candidate:
        return None
    a, b = np.log(base), np.log(candidate)
    n = min(len(a), len(b))
    mean = float(b.mean() - a.mean())
    if n < 2:
        return Contrast.of(n, mean, 0.0, 0.0, variance=0.0, sources=1.0)
    of_a, of_b = float(a.var(ddof=1)), float(b.var(ddof=1))
    square = of_a / len(a) + of_b / len(b)
    squares = (of_a / len(a)) ** 2 / (len(a) - 1) + (of_b / len(b)) ** 2 / (len(b) - 1)
    welch = square**2 / squares if squares > 0 else float(len(a) + len(b) - 2)
    fourth = of_a**2 + of_b**2
    sources = (of_a + of_b) ** 2 / fourth if fourth > 0 else 2.0
    degrees, per_repeat = harmonic_mean((welch, n - 1.0)), harmonic_mean((sources, 1.0))
    return Contrast.of(n, mean, math.sqrt(square), degrees, variance=of_a + of_b, sources=per_repeat)


def repeats_to_tell(contrast: Contrast, share: float, tests: int) -> int | None:
    """Repeats with which a true difference of `share` would be found four times in five, among so many tests, with the
    noise seen here. None where that is more than anyone will run, or where two values are not there to show any noise."""
    if contrast.estimate.degrees <= 0:
        return None
    level, needed = ALARMS / max(tests, 1), math.log1p(share)

    def tells(n: int) -> bool:
        degrees = (n - 1) * contrast.sources
        reach = two_sided_limit(level, degrees) + two_sided_limit(2 * MISSED, degrees)
        return reach * math.sqrt(contrast.variance / n) <= needed

    low, high = FEWEST_FOR_CLAIM - 1, FEWEST_FOR_CLAIM
    while not tells(high):
        low, high = high, 2 * high
        if low > MOST_REPEATS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tells(middle) else (middle, high)
    return high
