"""steadiness: is one number for the measure phase honest?

Series of whole seconds: messages sent, messages received, and the natural logarithm of each second's p99. For the
logarithms a difference is already relative, so spread and slope are not divided by the mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.model import steadiness as limits
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.metrics import LATENCIES
from brokerlab.pipeline.rates import measured_seconds
from brokerlab.results.tables import LOG_P99, STEADINESS

DECIMALS = 9  # sums of doubles depend on the order of rows in their last digits; files must not
Doubles = npt.NDArray[np.float64]


def steadiness(rates: pa.Table, latency: pa.Table) -> pa.Table:
    """One row per series of an execution. `rates` is rate_per_second, `latency` is latency_per_second (the worst group of
    each second)."""
    schema = arrow_schema(STEADINESS.computed()).remove_metadata()
    bounds = measured_seconds(rates)
    if bounds is None:
        return schema.empty_table()
    where = {name: rates[name][0].as_py() for name in ("cell", "repeat")}
    points = [*_counts(rates, *bounds), *_logarithms(latency, *bounds)]
    return pa.Table.from_pylist([where | _judged(series, second, x) for series, second, x in points], schema)


def _counts(rates: pa.Table, first: int, last: int) -> Iterator[tuple[str, Doubles, Doubles]]:
    """(series, seconds, messages). A second in which no agent wrote anything is a second with zero messages."""
    producers = pc.equal(rates["role"], "producer")
    for series, rows in (("sent", rates.filter(producers)), ("received", rates.filter(pc.invert(producers)))):
        if not len(rows):
            continue
        second, count = rows["second_unix_s"].to_numpy(), rows[series].to_numpy()
        inside = (second >= first) & (second <= last)
        summed = np.bincount(second[inside] - first, weights=count[inside], minlength=last - first + 1)
        yield series, np.arange(first, last + 1, dtype=np.float64), summed.astype(np.float64)


def _logarithms(latency: pa.Table, first: int, last: int) -> Iterator[tuple[str, Doubles, Doubles]]:
    """(series, seconds, log of p99). A second without samples has none."""
    for measure in LATENCIES:
        rows = latency.filter(pc.and_(pc.equal(latency["measure"], measure), pc.greater(latency["p99_ns"], 0)))
        worst = (
            rows.group_by("second_unix_s", use_threads=False).aggregate([("p99_ns", "max")]).sort_by("second_unix_s")
        )
        second, p99_ns = (worst[name].to_numpy().astype(np.float64) for name in ("second_unix_s", "p99_ns_max"))
        inside = (second >= first) & (second <= last)
        if inside.any():
            yield measure + LOG_P99, second[inside], np.log(p99_ns[inside])


@dataclass(frozen=True)
class _Shape:
    """Of one series: slope per second, noise around the line, and the best place for one change.

    That place is where the running sum of deviations from the mean is farthest from zero: `shift_second` is the first
    second after it, `shift` the mean after minus the mean before, `cusum` the excursion / (deviation x sqrt(n)).
    """

    mean: float
    deviation: float
    slope: float
    noise: float
    cusum: float
    shift: float
    shift_second: int


def _shape(second: Doubles, x: Doubles) -> _Shape:
    n = len(x)
    before = np.cumsum(x)
    mean = float(before[-1]) / n
    deviation = float(x.std(ddof=1)) if n > 1 else 0.0
    slope, explained = _line(second - second[0], x)
    noise = deviation * math.sqrt(max(1 - explained, 0.0) * (n - 1) / limits.freedom(n))
    if n < 2:
        return _Shape(mean, deviation, slope, noise, 0.0, 0.0, -1)
    k = np.arange(1, n)
    away = np.abs(before[:-1] - before[-1] * k / n)
    cusum = away / (deviation * math.sqrt(n)) if deviation > 0 else np.zeros(n - 1)
    place = int(np.flatnonzero(cusum == cusum.max())[-1])
    shift = float((before[-1] - before[place]) / (n - 1 - place) - before[place] / (place + 1))
    return _Shape(mean, deviation, slope, noise, float(cusum[place]), shift, int(second[place + 1]))


def _line(elapsed_s: Doubles, x: Doubles) -> tuple[float, float]:
    """Slope of the least-squares line, and the share of the variance that it explains."""
    along, away = elapsed_s - elapsed_s.mean(), x - x.mean()
    of_time, of_x, both = float(along @ along), float(away @ away), float(along @ away)
    if of_time == 0:
        return 0.0, 0.0
    return both / of_time, (both * both / (of_time * of_x) if of_x > 0 else 1.0)


def _judged(series: str, second: Doubles, x: Doubles) -> dict[str, str | int | float]:
    shape, is_log, n = _shape(second, x), series.endswith(LOG_P99), len(x)
    scale = 1.0 if is_log else abs(shape.mean)
    variation, slope, noise = (v / scale if scale > 0 else 0.0 for v in (shape.deviation, shape.slope, shape.noise))
    stands_out = (
        shape.cusum > limits.CUSUM_LIMIT
        and abs(shape.shift) > (limits.SHIFT_LIMIT_LOG if is_log else limits.SHIFT_LIMIT) * scale
    )
    return {
        "series": series,
        "seconds": n,
        "mean": round(shape.mean, DECIMALS),
        "variation": round(variation, DECIMALS),
        "slope_per_minute": round(slope * 60, DECIMALS),
        "change_second": shape.shift_second if stands_out else -1,
        "label": _label(n, slope * n, noise, variation, scale, is_log),
    }


def _label(n: int, trend: float, noise: float, variation: float, scale: float, is_log: bool) -> str:
    """short, warming, slowing, none or flat. A rate that rises and a latency that falls are both warming."""
    if n < limits.FEWEST_SECONDS:
        return "short"
    error = noise * math.sqrt(12.0 / n)  # of a least-squares line's rise over its whole length
    least = limits.standard_errors(n)
    if abs(trend) > (limits.TREND_LIMIT_LOG if is_log else limits.TREND_LIMIT) and abs(trend) > least * error:
        return "warming" if (trend > 0) == (not is_log) else "slowing"
    chance = limits.COUNTS_SCATTER / math.sqrt(scale) if scale > 0 else 0.0  # counts scatter by themselves
    limit = limits.VARIATION_LIMIT_LOG if is_log else limits.VARIATION_LIMIT + chance
    return "none" if variation > limit else "flat"
