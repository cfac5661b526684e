"""Estimated ratios of two sides, and what may be said of many of them at once: intervals and Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from brokerlab.judge.student import two_sided_chance, two_sided_limit
from brokerlab.results.tables import FEWEST_FOR_CLAIM

ALARMS = 0.04  # chance of any difference among identical sides; 5 % is promised, and noise is never quite normal
_LARGEST_EXPONENT = 700.0  # exp() of more is too large for a float


@dataclass(frozen=True)
class Difference:
    """Of two cells in one metric, as the ratio of the first to the second."""

    cell_a: str
    cell_b: str
    pairs: int  # repeats in which both have a value; between runs, values on the side that has fewer
    ratio: float  # geometric mean over the pairs
    interval: tuple[float, float] | None  # of the ratio; none from a single pair
    chance: float | None  # of such a difference among identical cells, after Holm; none where the pairs are too few

    @property
    def significant(self) -> bool:
        """Whether the cells differ at all; exactly then the interval leaves out 1."""
        return self.chance is not None and self.chance <= ALARMS


@dataclass(frozen=True)
class Estimate:
    """Mean of the logarithms of the ratios of two cells, its standard error, and the degrees of freedom of that error."""

    cell_a: str
    cell_b: str
    pairs: int
    mean: float
    error: float
    degrees: float

    @property
    def can_claim(self) -> bool:
        return self.pairs >= FEWEST_FOR_CLAIM

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
        return Difference(self.cell_a, self.cell_b, self.pairs, _exp(self.mean), interval, chance)


def corrected(estimates: Sequence[Estimate]) -> list[Difference]:
    """All of them together by Holm's method: the smallest chance counts as often as there are tests, the next once less, and
    so on. The chance that any of them is called a difference where there is none is ALARMS at most.

    Each interval has the level at which its difference was decided, so it leaves out 1 exactly where the difference is
    significant. Estimates from too few repeats are not tested.
    """
    chances = {i: e.chance() for i, e in enumerate(estimates) if e.can_claim}
    found = {i: e.difference(ALARMS, None) for i, e in enumerate(estimates) if i not in chances}
    so_far, level = 0.0, ALARMS
    for rank, i in enumerate(sorted(chances, key=chances.__getitem__)):
        left = len(chances) - rank
        if so_far <= ALARMS:  # all before were significant
            level = ALARMS / left
        so_far = max(so_far, min(chances[i] * left, 1.0))
        found[i] = estimates[i].difference(level, so_far)
    return [found[i] for i in range(len(estimates))]


def _exp(exponent: float) -> float:
    return math.exp(min(exponent, _LARGEST_EXPONENT))
