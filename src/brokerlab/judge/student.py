"""Student's t distribution for any positive degrees of freedom, whole or not."""

from __future__ import annotations

import math
from functools import lru_cache

_TINY = 1e-300
_MOST_STEPS = 1000
_PRECISION = 1e-15


def two_sided_chance(t: float, degrees: float) -> float:
    """The chance of a value at least as far from zero as `t`."""
    if math.isinf(t):
        return 0.0
    if t * t < degrees:  # from the other end: degrees / (degrees + t x t) would lose the digits of a small t
        return 1 - _incomplete_beta(0.5, degrees / 2, t * t / (degrees + t * t))
    return _incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t))


@lru_cache(maxsize=4096)
def two_sided_limit(chance: float, degrees: float) -> float:
    """The positive t that is exceeded, on both sides together, with `chance` (above 0, below 1)."""
    low, high = 0.0, 1.0
    while two_sided_chance(high, degrees) > chance:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided_chance(middle, degrees) > chance else (low, middle)
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function, for 0 <= x <= 1."""
    if x in (0.0, 1.0):
        return x
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):  # where the fraction converges fast
        return math.exp(scale) * _fraction(a, b, x) / a
    return 1 - math.exp(scale) * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Its continued fraction (DLMF 8.17.22), evaluated from the front by Lentz's method."""
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for numerator in (even, odd):
            d = 1 / _not_zero(1 + numerator * d)
            c = _not_zero(1 + numerator / c)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _not_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
