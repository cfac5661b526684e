"""The measures of claims, each with an interval. docs/studies.md has the method.

Where a measure looks at several pairs of cells (spread, flatness, peak, rank), the intervals of the pairs hold together:
each gets its share of the error. So the measure's own interval holds whichever pair turns out to be the extreme one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

import numpy as np

from brokerlab.judge.contrasts import unpaired
from brokerlab.judge.differences import estimates
from brokerlab.judge.student import two_sided_limit
from brokerlab.model.claims import Part
from brokerlab.model.histogram import printed_ns
from brokerlab.results.tables import FEWEST_FOR_CLAIM

Round = tuple[str, int]  # run, and the repeat of it in which the cells ran side by side
Values = Mapping[Round, float]
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True)
class Measured:
    """A measure's value with its interval; the interval is None where there are too few repeats. `n` counts repeats, or
    pairs of them, of the cells that have fewest."""

    value: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Figures:
    """What was measured of one experiment after another: metric -> cell -> values by round. `configured` are planned
    rates, `message_bytes` sizes of messages, by cell."""

    values: Mapping[str, Mapping[str, Values]]
    experiments: Mapping[str, str]  # cell -> experiment
    configured: Mapping[str, float]
    message_bytes: Mapping[str, float]

    def of(self, metric: str, cell: str) -> Values:
        return self.values.get(metric, {}).get(cell, {})


@dataclass(frozen=True)
class CountedWhile(Part):
    """A rank of figures that count only while another metric of their cell stays below a limit."""

    while_metric: str = ""
    while_below: float = math.inf
    while_text: str = ""  # the limit as written


class NoValueError(Exception):
    """A measure cannot be computed from these values; the text says why."""


def measured(part: Part, figures: Figures, level: float) -> Measured:
    """The part's measure with an interval that leaves out the true value with the chance `level`."""
    if part.kind in ("level", "share", "overhead", "during", "bucketed"):
        return _of_one_cell(part, figures, level)
    if part.kind == "ratio":
        a, b = part.cells
        found = _contrasts(figures, part.metric, [(a, b)])[0]
        low, high = found.interval(level)
        return Measured(_exp(found.mean), _exp(low), _exp(high), found.n) if found.tells else found.only_value()
    pairs = _pairs(part)
    contrasts = _contrasts(figures, part.metric, pairs)
    n = min(c.n for c in contrasts)
    intervals = [c.interval(level / len(pairs)) for c in contrasts] if all(c.tells for c in contrasts) else None
    means = [c.mean for c in contrasts]
    if part.kind == "rank":
        _check_all_count(part, figures)
        return _rank(means, intervals, n)
    if part.kind == "peak":
        if intervals is None:
            return Measured(_exp(max(means)), None, None, n)
        return Measured(_exp(max(means)), _exp(max(i[0] for i in intervals)), _exp(max(i[1] for i in intervals)), n)
    return _spread(means, intervals, n, inverse=part.kind == "flatness")


def _check_all_count(part: Part, figures: Figures) -> None:
    """NoValueError for a cell whose figure does not count: the median of the other metric is not below its limit."""
    if not isinstance(part, CountedWhile):
        return
    for cell in part.cells:
        values = figures.of(part.while_metric, cell)
        if not values:
            raise NoValueError(f"{cell} has no {part.while_metric}")
        if median(values.values()) >= part.while_below:
            raise NoValueError(
                f"the {part.metric} of {cell} does not count: its {part.while_metric} is not below {part.while_text}"
            )


def _pairs(part: Part) -> list[tuple[str, str]]:
    if part.kind == "peak":
        return [(cell, part.cells[-1]) for cell in part.cells[:-1]]
    return list(combinations(part.cells, 2))


def _spread(means: list[float], intervals: list[tuple[float, float]] | None, n: int, *, inverse: bool) -> Measured:
    """The largest ratio of any two cells, either way round; its inverse is the flatness."""
    value = max(abs(m) for m in means)
    if intervals is None:
        return Measured(_exp(-value if inverse else value), None, None, n)
    low = max([0.0, *(max(a, -b) for a, b in intervals)])
    high = max(max(b, -a) for a, b in intervals)
    ends = (_exp(-high), _exp(-low)) if inverse else (_exp(low), _exp(high))
    return Measured(_exp(-value if inverse else value), *ends, n)


def _rank(means: list[float], intervals: list[tuple[float, float]] | None, n: int) -> Measured:
    """Kendall's tau. Pairs whose order is not clear may be either way round: that is its interval."""
    tau = float(np.sign(means).sum()) / len(means)
    if intervals is None:
        return Measured(tau, None, None, n)
    agree = sum(low > 0 for low, _ in intervals)
    differ = sum(high < 0 for _, high in intervals)
    open_ = len(intervals) - agree - differ
    return Measured(tau, (agree - differ - open_) / len(means), (agree - differ + open_) / len(means), n)


@dataclass(frozen=True)
class _Contrast:
    mean: float
    error: float
    degrees: float
    n: int

    @property
    def tells(self) -> bool:
        return self.n >= FEWEST_FOR_CLAIM and self.degrees > 0

    def interval(self, level: float) -> tuple[float, float]:
        if self.degrees <= 0:
            return -math.inf, math.inf
        reach = two_sided_limit(level, self.degrees) * self.error
        return self.mean - reach, self.mean + reach

    def only_value(self) -> Measured:
        return Measured(_exp(self.mean), None, None, self.n)


def _contrasts(figures: Figures, metric: str, pairs: Sequence[tuple[str, str]]) -> list[_Contrast]:
    """Of the logarithms of a / b. Cells of one experiment run side by side: pairs of repeats, with the noise of the cells
    that the measure names and of no others, which may be other systems under other loads. Cells of different experiments,
    and those that only ever ran in different runs, have nothing to do with each other."""
    named = list(dict.fromkeys(cell for pair in pairs for cell in pair))
    for cell in named:
        values = figures.of(metric, cell)
        if not values:
            raise NoValueError(f"{cell} has no {metric}")
        if min(values.values()) <= 0:
            raise NoValueError(f"{metric} of {cell} is zero, and zero has no ratio")
    side_by_side: dict[tuple[str, str], _Contrast] = {}
    for experiment in {e for cell in named if (e := figures.experiments.get(cell)) is not None}:
        side_by_side |= _within({c: figures.of(metric, c) for c in named if figures.experiments.get(c) == experiment})
    return [side_by_side.get((a, b)) or _unpaired(figures.of(metric, a), figures.of(metric, b)) for a, b in pairs]


def _within(cells: Mapping[str, Values]) -> dict[tuple[str, str], _Contrast]:
    """Of every two of these cells of one experiment that share a round, both ways round."""
    rounds = {r: i for i, r in enumerate(sorted({r for values in cells.values() for r in values}))}
    numbered = {cell: {rounds[r]: value for r, value in values.items()} for cell, values in sorted(cells.items())}
    found = {}
    for e in estimates(numbered):
        found[e.cell_a, e.cell_b] = _Contrast(e.mean, e.error, e.degrees, e.pairs)
        found[e.cell_b, e.cell_a] = _Contrast(-e.mean, e.error, e.degrees, e.pairs)
    return found


def _unpaired(a: Values, b: Values) -> _Contrast:
    found = unpaired(list(b.values()), list(a.values()))
    assert found is not None  # neither is empty
    e = found.estimate
    return _Contrast(e.mean, e.error, e.degrees, e.pairs)


def _of_one_cell(part: Part, figures: Figures, level: float) -> Measured:
    """Mean with Student's interval; of logarithms where all values are above zero, so that it never reaches below."""
    values = np.array(_values(part, figures), np.float64)
    n = len(values)
    logarithmic = part.kind != "overhead" and bool((values > 0).all())
    used = np.log(values) if logarithmic else values
    mean, back = float(used.mean()), _exp if logarithmic else float
    if n < FEWEST_FOR_CLAIM:
        return Measured(back(mean), None, None, n)
    reach = two_sided_limit(level, n - 1.0) * math.sqrt(float(used.var(ddof=1)) / n)
    return Measured(back(mean), back(mean - reach), back(mean + reach), n)


def _values(part: Part, figures: Figures) -> list[float]:
    (cell,) = part.cells
    values = figures.of(part.figure, cell)
    if not values:
        raise NoValueError(f"{cell} has no {part.figure}")
    if part.kind == "overhead":
        if cell not in figures.message_bytes:
            raise NoValueError(f"the size of the messages of {cell} is not known")
        return [v - figures.message_bytes[cell] for v in values.values()]
    if part.kind == "bucketed":
        return [float(printed_ns(v, part.bucket_ns)) for v in values.values()]
    if part.kind != "share":
        return list(values.values())
    if part.of == "configured":
        if not figures.configured.get(cell):
            raise NoValueError(f"{cell} has no configured rate: it sends as fast as it can")
        return [v / figures.configured[cell] for v in values.values()]
    whole = figures.of(part.of, cell)
    shares = [value / whole[r] for r, value in values.items() if whole.get(r)]
    if not shares:
        raise NoValueError(f"{cell} has no {part.of}")
    return shares


def _exp(exponent: float) -> float:
    return math.exp(min(exponent, _LARGEST_EXPONENT))
