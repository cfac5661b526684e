"""By what factor does a candidate differ from a base, how sure is it, and how many repeats would tell?

docs/comparing.md has the method. Contrasts of any number of cells and metrics are corrected together: that is what tells
this from `differences`, which asks about every two cells of one run in one metric.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import harmonic_mean

import numpy as np

from brokerlab.judge.differences import ALARMS, Difference
from brokerlab.judge.student import two_sided_chance, two_sided_limit
from brokerlab.results.tables import FEWEST_FOR_CLAIM

MOST_REPEATS = 10_000  # beyond this many the number is of no use
MISSED = 0.2  # chance with which a true difference may be missed by the number of repeats that `repeats_to_tell` gives


@dataclass(frozen=True)
class Contrast:
    """Of the logarithms of candidate / base: mean, its standard error and the degrees of freedom of that error.

    With n repeats on each side (n pairs) the error would be sqrt(variance / n), with (n - 1) x sources degrees of freedom.
    """

    n: int  # pairs, or values on the side that has fewer
    mean: float
    error: float
    degrees: float
    variance: float
    sources: float

    @property
    def can_claim(self) -> bool:
        return self.n >= FEWEST_FOR_CLAIM

    def chance(self) -> float:
        """Of such a difference, or a larger one, where there is none."""
        if self.mean == 0:
            return 1.0
        return two_sided_chance(abs(self.mean) / self.error if self.error > 0 else math.inf, self.degrees)

    def difference(self, level: float, chance: float | None) -> Difference:
        """With the interval that leaves out the true ratio with the chance `level`."""
        interval = None
        if self.degrees > 0:
            reach = two_sided_limit(level, self.degrees) * self.error
            interval = _exp(self.mean - reach), _exp(self.mean + reach)
        return Difference("candidate", "base", self.n, _exp(self.mean), interval, chance)


def paired(base: Mapping[int, float], candidate: Mapping[int, float]) -> Contrast | None:
    """Values above zero, by round of one run: what happened to a whole round cancels out. None without a common round."""
    rounds = sorted(base.keys() & candidate.keys())
    if not rounds:
        return None
    logs = np.log([candidate[r] / base[r] for r in rounds])
    variance = float(logs.var(ddof=1)) if len(logs) > 1 else 0.0
    n = len(rounds)
    return Contrast(n, float(logs.mean()), math.sqrt(variance / n), n - 1.0, variance, 1.0)


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
        return Contrast(n, mean, 0.0, 0.0, 0.0, 1.0)
    of_a, of_b = float(a.var(ddof=1)), float(b.var(ddof=1))
    square = of_a / len(a) + of_b / len(b)
    squares = (of_a / len(a)) ** 2 / (len(a) - 1) + (of_b / len(b)) ** 2 / (len(b) - 1)
    welch = square**2 / squares if squares > 0 else float(len(a) + len(b) - 2)
    fourth = of_a**2 + of_b**2
    sources = (of_a + of_b) ** 2 / fourth if fourth > 0 else 2.0
    degrees = harmonic_mean((welch, n - 1.0))
    return Contrast(n, mean, math.sqrt(square), degrees, of_a + of_b, harmonic_mean((sources, 1.0)))


def corrected(contrasts: Sequence[Contrast]) -> list[Difference]:
    """All of them together by Holm's method: the chance that any of them is called a difference where there is none is
    ALARMS at most. Each interval has the level at which its contrast was decided, so it leaves out 1 exactly where the
    difference is significant. Those with too few repeats are not tested."""
    chances = {i: c.chance() for i, c in enumerate(contrasts) if c.can_claim}
    found = {i: c.difference(ALARMS, None) for i, c in enumerate(contrasts) if i not in chances}
    so_far, level = 0.0, ALARMS
    for rank, i in enumerate(sorted(chances, key=chances.__getitem__)):
        left = len(chances) - rank
        if so_far <= ALARMS:  # all before were significant
            level = ALARMS / left
        so_far = max(so_far, min(chances[i] * left, 1.0))
        found[i] = contrasts[i].difference(level, so_far)
    return [found[i] for i in range(len(contrasts))]


def repeats_to_tell(contrast: Contrast, share: float, tests: int) -> int | None:
    """Repeats with which a true difference of `share` would be found four times in five, among so many tests, with the
    noise seen here. None where that is more than anyone will run, or where two values are not there to show any noise."""
    if contrast.degrees <= 0:
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


def _exp(exponent: float) -> float:
    return math.exp(min(exponent, 700.0))  # more is too large for a float
