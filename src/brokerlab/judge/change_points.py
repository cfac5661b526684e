"""Where a series of runs changes its level, by permutation tests: docs/history.md has the method and its measured alarms.

A series that never changed is exchangeable: every order of its values is as likely as the one that was seen. A change is
called where few orders have a split, or a stretch with another level than the rest, as clear as the one that was seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt

ALARMS = 0.05  # chance of any change point in steady series, all series of one question together
OF_STEPS = 0.6  # share of it for steps that last; the rest is for stretches, after which the old level is back
SHORTEST = 3  # runs of a stretch of one level: one or two may always be chance
LONGEST = 300  # most runs that are looked at, the latest: the work grows with their square
FEWEST = 8  # runs below which no series can show a change: even 3 and 4 that do not overlap come by chance in 6 of 100 orders
_SEED = 20261117
_BLOCK = 250  # permutations at once
_MOST = 20_000
_ENOUGH = 50  # permutations at least as clear as what was seen: then the chance is known well enough

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ChangePoint:
    """Between two stretches of a series: `at` is the number of the first run of the later one."""

    at: int
    ratio: float  # of geometric means, later / earlier stretch
    chance: float  # of so clear a step anywhere in both stretches, where there is none


def change_points(values: Sequence[float], *, series: int = 1, smallest: float = 0.0) -> list[ChangePoint]:
    """Of values above zero in order of time. `series` is how many series are asked together: the chance of any false alarm in
    all of them is ALARMS at most. Steps of less than the share `smallest` are not worth calling."""
    logs = np.log(np.asarray(values[-LONGEST:], np.float64))
    skipped = len(values) - len(logs)
    if len(logs) < FEWEST:
        return []
    level = ALARMS / max(series, 1)
    found = _worth(logs, _cuts(logs, level), level, math.log1p(smallest))
    return [replace(point, at=point.at + skipped) for point in found]


def _cuts(logs: Floats, level: float) -> list[int]:
    """Where the level may change: the series is cut at its clearest step or stretch, then each part in turn."""
    found, parts = [], [(0, len(logs))]
    while parts:
        begin, end = parts.pop()
        cuts = _clearest(logs[begin:end], level)
        if cuts:
            edges = [begin, *(begin + cut for cut in cuts), end]
            found += edges[1:-1]
            parts += list(pairwise(edges))
    return sorted(found)


def _clearest(logs: Floats, level: float) -> list[int]:
    """One cut for a step, two for a stretch, none for neither."""
    if len(logs) < FEWEST:
        return []
    step, at = _step(logs)
    if _chance(logs, step, _steps, level * OF_STEPS) <= level * OF_STEPS:
        return [at]
    if len(logs) < 3 * SHORTEST:
        return []
    stretch, begin, end = _stretch(logs)
    rest = level * (1 - OF_STEPS)
    return [begin, end] if _chance(logs, stretch, _stretches, rest) <= rest else []


def _worth(logs: Floats, cuts: list[int], level: float, smallest: float) -> list[ChangePoint]:
    """The cuts that are clear and large enough between their own two stretches alone. The least clear goes first; then its two
    stretches are one."""
    while cuts:
        edges = [0, *cuts, len(logs)]
        points = [_between(logs, edges[i], edges[i + 1], edges[i + 2], level) for i in range(len(cuts))]
        weak = [p for p in points if p.chance > level or abs(math.log(p.ratio)) < smallest]
        if not weak:
            return points
        least = max(weak, key=lambda p: (p.chance, -abs(math.log(p.ratio))))
        cuts = [cut for cut, point in zip(cuts, points, strict=True) if point is not least]
    return []


def _between(logs: Floats, begin: int, cut: int, end: int, level: float) -> ChangePoint:
    """The cut moves to the clearest step of its two stretches."""
    step, at = _step(logs[begin:end])
    cut = begin + at if at else cut
    ratio = math.exp(float(logs[cut:end].mean() - logs[begin:cut].mean()))
    return ChangePoint(cut, ratio, _chance(logs[begin:end], step, _steps, level))


def _chance(logs: Floats, seen: float, clearest: Callable[[Floats], Floats], level: float) -> float:
    """Of an order that is as clear as what was seen. From all orders where they are few, else by Monte Carlo, which stops as soon
    as it is plain that the chance is above `level` (Besag and Clifford 1991)."""
    if len(logs) <= FEWEST:
        return float((clearest(logs[_orders(len(logs))]) >= seen * (1 - 1e-9)).mean())
    rng = np.random.default_rng(_SEED)
    most = min(max(1000, math.ceil(20 / level)), _MOST)
    tried = as_clear = 0
    while tried < most and as_clear < max(_ENOUGH, 2 * level * tried):
        block = rng.permuted(np.broadcast_to(logs, (min(_BLOCK, most - tried), len(logs))), axis=1)
        as_clear += int((clearest(block) >= seen * (1 - 1e-9)).sum())
        tried += len(block)
    return (as_clear + 1) / (tried + 1)


@cache
def _orders(n: int) -> npt.NDArray[np.int64]:
    return np.array(list(permutations(range(n))))


def _step(logs: Floats) -> tuple[float, int]:
    """The clearest split into two stretches: how clear it is, and the first number of the second."""
    sizes = np.arange(SHORTEST, len(logs) - SHORTEST + 1)
    clear = _clear(_sums(logs[None, :])[0, sizes], sizes, len(logs))
    best = int(np.argmax(clear)) if len(clear) else -1
    return (float(clear[best]), int(sizes[best])) if best >= 0 else (0.0, 0)


def _stretch(logs: Floats) -> tuple[float, int, int]:
    """The clearest stretch with something before and after it: how clear it is, its first number, and the first after it."""
    sums, n = _sums(logs[None, :])[0], len(logs)
    best = (0.0, 0, 0)
    for size in range(SHORTEST, n - 2 * SHORTEST + 1):
        begins = np.arange(SHORTEST, n - SHORTEST - size + 1)
        clear = _clear(sums[begins + size] - sums[begins], size, n)
        i = int(np.argmax(clear))
        best = max(best, (float(clear[i]), int(begins[i]), int(begins[i]) + size))
    return best


def _steps(rows: Floats) -> Floats:
    """Of each row, how clear its clearest split is."""
    n = rows.shape[1]
    sizes = np.arange(SHORTEST, n - SHORTEST + 1)
    return np.asarray(_clear(_sums(rows)[:, sizes], sizes, n).max(axis=1))


def _stretches(rows: Floats) -> Floats:
    """Of each row, how clear its clearest stretch is."""
    sums, n = _sums(rows), rows.shape[1]
    best = np.zeros(len(rows))
    for size in range(SHORTEST, n - 2 * SHORTEST + 1):
        inside = sums[:, SHORTEST + size : n - SHORTEST + 1] - sums[:, SHORTEST : n - SHORTEST - size + 1]
        best = np.maximum(best, _clear(inside, size, n).max(axis=1))
    return best


def _sums(rows: Floats) -> Floats:
    """Sums of the first 0, 1, 2, ... values of each row, less the row's mean each."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    return np.concatenate([np.zeros((len(rows), 1)), np.cumsum(centred, axis=1)], axis=1)


def _clear(sums: Floats, sizes: npt.NDArray[np.int64] | int, n: int) -> Floats:
    """The difference of the means of `sizes` values and the rest, by its standard error with noise of 1. Sums are of centred
    values. Student's t grows with it where the values are the same in another order."""
    return np.asarray(np.abs(sums) * np.sqrt(n / (sizes * (n - sizes))))
