"""When one producer's messages are due: fixed in advance, never moved by how the broker answers (open loop).

Due times are offsets in nanoseconds from the start all agents agreed on. They never decrease, end with the measure
phase, and do not depend on how many are asked for at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from brokerlab.model.blocks import Int64s
from brokerlab.model.plan import PhasesPlan, SchedulePlan

SECOND_NS = 1_000_000_000
RATE_DENOMINATOR = (
    1_000_000  # a rate is taken as the nearest fraction with at most this denominator: 10_000 / 3 exactly
)
NONE_DUE: Int64s = np.empty(0, np.int64)

Floats = npt.NDArray[np.float64]


class Schedule:
    """An endless-looking, stateful sequence of due times that ends at warm-up + measure.

    `producer` is this producer's number and `producers` how many there are in the cell: they are staggered by equal
    parts of one gap so that together they are as even as one producer would be. Poisson producers differ by seed.
    With `messages`, no more than so many are due in the measure phase.
    """

    def __init__(
        self,
        plan: SchedulePlan,
        phases: PhasesPlan,
        *,
        seed: int,
        producer: int,
        producers: int,
        messages: int | None = None,
    ) -> None:
        self.end_ns = round((phases.warm_up_s + phases.measure_s) * SECOND_NS)
        self._warm_up_ns = round(phases.warm_up_s * SECOND_NS)
        self._left = self._messages = messages
        self._plan = plan
        self._last_ns = 0
        self._over = False
        self._next = _sequence(plan, self.end_ns, seed, producer, producers)

    def expected_by(self, offset_ns: int) -> int:
        """How many are due by then: exactly but for Poisson arrivals, of which this is the mean."""
        reached = self._reached(min(max(offset_ns, 0), self.end_ns))
        if self._messages is not None:
            reached = min(reached, self._reached(self._warm_up_ns) + self._messages)
        return reached

    def _reached(self, offset_ns: int) -> int:
        return int(_cumulative(self._plan, self.end_ns / SECOND_NS, offset_ns / SECOND_NS))

    def due_offsets_ns(self, count: int) -> Int64s:
        """The next `count` due times; fewer, and from then on none, when the measure phase ends before."""
        if self._over or count <= 0:
            return NONE_DUE
        offsets = self._next(count)
        if len(offsets):
            # Floating-point inversion may step back by a nanosecond where a burst begins.
            offsets[0] = max(int(offsets[0]), self._last_ns)
            np.maximum.accumulate(offsets, out=offsets)
        within = int(np.searchsorted(offsets, self.end_ns, side="left"))
        if self._left is not None:
            warming_up = int(np.searchsorted(offsets[:within], self._warm_up_ns, side="left"))
            within = min(within, warming_up + self._left)
            self._left -= within - warming_up
        if within < count:
            self._over = True
            offsets = offsets[:within]
        if within:
            self._last_ns = int(offsets[-1])
        return offsets


def _sequence(plan: SchedulePlan, end_ns: int, seed: int, producer: int, producers: int) -> Callable[[int], Int64s]:
    """The unbounded sequence behind a plan, as a function giving the next n."""
    if plan.arrival == "closed" or plan.rate_per_s is None:
        raise ValueError("a closed loop has no schedule: acknowledgements decide when the next message is sent")
    rate = plan.rate_per_s
    if plan.arrival == "uniform":
        return _uniform(rate, producer % producers, producers)
    if plan.arrival == "poisson":
        return _poisson(rate, seed, producer)
    if plan.arrival == "burst":
        if plan.burst_rate_per_s is None or plan.burst_s is None or plan.burst_every_s is None:
            raise ValueError("a burst needs its rate, its length and how often it comes")
        inverse = _burst(rate, plan.burst_rate_per_s, plan.burst_s, plan.burst_every_s)
    else:
        if plan.ramp_to_rate_per_s is None:
            raise ValueError("a ramp needs its final rate")
        inverse = _ramp(rate, plan.ramp_to_rate_per_s, end_ns / SECOND_NS)
    return _inverted(inverse, (producer % producers) / producers)


def _cumulative(plan: SchedulePlan, end_s: float, elapsed_s: float) -> float:
    """Messages of one producer in the first `elapsed_s`."""
    rate = plan.rate_per_s or 0.0
    if plan.arrival == "burst":
        burst_s, every_s = plan.burst_s or 0.0, plan.burst_every_s or 1.0
        periods, rest_s = divmod(elapsed_s, every_s)
        fast_s = periods * burst_s + min(rest_s, burst_s)
        return (plan.burst_rate_per_s or 0.0) * fast_s + rate * (elapsed_s - fast_s)
    if plan.arrival == "ramp" and end_s > 0:
        slope = ((plan.ramp_to_rate_per_s or 0.0) - rate) / end_s
        return rate * elapsed_s + slope * elapsed_s * elapsed_s / 2
    return rate * elapsed_s


def _uniform(rate_per_s: float, producer: int, producers: int) -> Callable[[int], Int64s]:
    """floor((i + producer / producers) x 10^9 / rate), in integers: no drift however long the run."""
    rate = Fraction(rate_per_s).limit_denominator(RATE_DENOMINATOR)
    if rate <= 0:
        return lambda _: NONE_DUE
    gap = Fraction(SECOND_NS) / rate / producers  # the numerator counts producers' shares of a gap
    whole, rest = divmod(gap.numerator * producers, gap.denominator)
    most = max(1, (1 << 62) // (max(gap.denominator, whole) + 1))  # k x rest and k x whole stay within 63 bits
    index = 0

    def following(count: int) -> Int64s:
        nonlocal index
        parts = []
        while count > 0:
            n = min(count, most)
            base, carried = divmod((index * producers + producer) * gap.numerator, gap.denominator)
            k = np.arange(n, dtype=np.int64)
            parts.append(base + k * whole + (carried + k * rest) // gap.denominator)
            index += n
            count -= n
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    return following


def _poisson(rate_per_s: float, seed: int, producer: int) -> Callable[[int], Int64s]:
    """Independent exponential gaps."""
    if rate_per_s <= 0:
        return lambda _: NONE_DUE
    random = np.random.default_rng([seed, producer, 1])
    elapsed_ns = 0.0

    def following(count: int) -> Int64s:
        nonlocal elapsed_ns
        gaps_ns = random.standard_exponential(count) * (SECOND_NS / rate_per_s)
        gaps_ns[0] += elapsed_ns  # the running sum adds in the same order whatever the chunk: identical to the last bit
        times_ns = np.cumsum(gaps_ns)
        elapsed_ns = float(times_ns[-1])
        return times_ns.astype(np.int64)

    return following


def _inverted(seconds_at: Callable[[Floats], Floats], stagger: float) -> Callable[[int], Int64s]:
    """Message i is due when the cumulative rate reaches i + stagger; `seconds_at` inverts the cumulative rate."""
    index = 0

    def following(count: int) -> Int64s:
        nonlocal index
        reached = np.arange(index, index + count, dtype=np.float64) + stagger
        index += count
        # Never reached is infinite: a century is beyond every run and fits the integer.
        times_ns: Floats = np.floor(np.minimum(seconds_at(reached), 3.0e9) * SECOND_NS)
        return times_ns.astype(np.int64)

    return following


def _burst(rate_per_s: float, burst_rate_per_s: float, burst_s: float, every_s: float) -> Callable[[Floats], Floats]:
    """Every period begins with its burst."""
    in_burst = burst_rate_per_s * burst_s
    in_period = in_burst + rate_per_s * (every_s - burst_s)

    def seconds_at(reached: Floats) -> Floats:
        if in_period <= 0:
            return np.full(len(reached), np.inf)
        period = np.floor(reached / in_period)
        left = np.maximum(reached - period * in_period, 0.0)
        fast = left / burst_rate_per_s if burst_rate_per_s > 0 else np.full(len(left), np.inf)
        slow = burst_s + (left - in_burst) / rate_per_s if rate_per_s > 0 else np.full(len(left), every_s)
        return period * every_s + np.where(left < in_burst, fast, slow)

    return seconds_at


def _ramp(rate_per_s: float, to_rate_per_s: float, over_s: float) -> Callable[[Floats], Floats]:
    """Inverse of rate x t + slope x t^2 / 2, in the form that stays exact when the slope is nearly zero."""
    slope = (to_rate_per_s - rate_per_s) / over_s if over_s > 0 else 0.0

    def seconds_at(reached: Floats) -> Floats:
        square = rate_per_s * rate_per_s + 2.0 * slope * reached
        root = np.sqrt(np.maximum(square, 0.0))
        below = rate_per_s + root
        seconds = np.divide(2.0 * reached, below, out=np.zeros(len(reached)), where=below > 0)
        never = (square < 0) | ((below == 0) & (slope <= 0))
        times: Floats = np.where(never, np.inf, seconds)
        return times

    return seconds_at
