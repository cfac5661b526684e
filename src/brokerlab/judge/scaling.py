"""The Universal Scalability Law fitted to measured rates: plain numpy.

rate(N) = alone x N / (1 + contention x (N - 1) + coherency x N x (N - 1)), none of them below 0 (Gunther). Fitted to the
logarithms of the rates, because noise is a share of a rate; the intervals come from the scatter of the executions around
the curve and Student's distribution, so a curve of another shape makes them wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brokerlab.judge.student import two_sided_limit

Floats = npt.NDArray[np.float64]
CHANCE = 0.05
_MOST_STEPS = 200
_PARAMETERS = 3


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; `high` is None where it has no upper end."""

    value: float
    low: float
    high: float | None


@dataclass(frozen=True)
class Scaling:
    """A fitted curve. `knee` is the N with the highest rate, None where the rate only rises."""

    alone: Estimate
    contention: Estimate
    coherency: Estimate
    knee: Estimate | None
    highest: float | None  # rate at the knee
    deviation: float  # of the executions from the curve, as a share of the rate


def usl_rate(n: Floats, alone: float, contention: float, coherency: float) -> Floats:
    return alone * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def fit_usl(n: Floats, rate: Floats) -> Scaling:
    """One entry of `n` and `rate` per execution; at least 4 different n and 5 executions, all above 0."""
    best = _best(n, rate)
    degrees = len(n) - _PARAMETERS
    deviation = math.sqrt(_squares(n, rate, best) / degrees)
    slopes = _slopes(n, best)
    # A column of zeros cannot be: n has at least three different values.
    spread = deviation * np.sqrt(np.diag(np.linalg.pinv(slopes.T @ slopes))) * two_sided_limit(CHANCE, degrees)
    log_alone, contention, coherency = best
    alone = Estimate(*(math.exp(log_alone + d) for d in (0.0, -spread[0], spread[0])))
    ends = [Estimate(v, max(v - s, 0.0), v + s) for v, s in ((contention, spread[1]), (coherency, spread[2]))]
    knee = _knee(*ends)
    highest = None if knee is None else float(usl_rate(np.array(knee.value), alone.value, contention, coherency))
    return Scaling(alone, ends[0], ends[1], knee, highest, deviation)


def _best(n: Floats, rate: Floats) -> tuple[float, float, float]:
    """The fit with the least squares; of two that are equal but for rounding, the one with fewer parameters."""
    best, squares = (0.0, 0.0, 0.0), math.inf
    for free in ((False, False), (True, False), (False, True), (True, True)):
        found = _fitted(n, rate, free)
        if (of_found := _squares(n, rate, found)) < squares * (1 - 1e-9) - 1e-20:
            best, squares = found, of_found
    return best


def _knee(contention: Estimate, coherency: Estimate) -> Estimate | None:
    """sqrt((1 - contention) / coherency), with the ends that the ends of both allow."""
    if coherency.value <= 0 or contention.value >= 1:
        return None

    def at(a: float, b: float) -> float:
        return math.sqrt(max(1 - a, 0.0) / b)

    low = at(contention.high or 0.0, coherency.high or coherency.value)
    high = at(contention.low, coherency.low) if coherency.low > 0 else None
    return Estimate(at(contention.value, coherency.value), low, high)


def _fitted(n: Floats, rate: Floats, free: tuple[bool, bool]) -> tuple[float, float, float]:
    """Least squares of the logarithms; a parameter that is not free is 0, one that would be below 0 stops there.

    Gauss-Newton from the solution of the linear form n / rate = 1/alone + ..., halving steps that do not improve.
    """
    chosen = np.array([True, *free])
    weights = rate / n
    columns = np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)[:, chosen] * weights[:, None]
    linear = np.zeros(_PARAMETERS)
    linear[chosen] = np.linalg.lstsq(columns, np.ones_like(n), rcond=None)[0]
    base = linear[0] if linear[0] > 0 else float(np.median(n / rate))
    now = np.array([-math.log(base), max(linear[1] / base, 0.0), max(linear[2] / base, 0.0)])
    squares = _squares(n, rate, now)
    for _ in range(_MOST_STEPS):
        slopes = _slopes(n, now)[:, chosen]
        step = np.zeros(_PARAMETERS)
        step[chosen] = np.linalg.lstsq(slopes, np.log(rate) - np.log(_rate(n, now)), rcond=None)[0]
        size = 1.0
        while size > 1e-6:
            tried = now + size * step
            tried[1:] = np.maximum(tried[1:], 0.0)
            if (better := _squares(n, rate, tried)) < squares:
                break
            size /= 2
        else:
            break
        gained, squares, now = squares - better, better, tried
        if gained <= 1e-14 * max(squares, 1e-300):
            break
    return float(now[0]), float(now[1]), float(now[2])


def _rate(n: Floats, parameters: Floats | tuple[float, float, float]) -> Floats:
    return usl_rate(n, math.exp(parameters[0]), parameters[1], parameters[2])


def _squares(n: Floats, rate: Floats, parameters: Floats | tuple[float, float, float]) -> float:
    return float(((np.log(rate) - np.log(_rate(n, parameters))) ** 2).sum())


def _slopes(n: Floats, parameters: Floats | tuple[float, float, float]) -> Floats:
    """Derivatives of the logarithm of the rate by log alone, contention and coherency."""
    below = 1 + parameters[1] * (n - 1) + parameters[2] * n * (n - 1)
    return np.stack([np.ones_like(n), -(n - 1) / below, -n * (n - 1) / below], axis=1)
