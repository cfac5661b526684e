"""Values of the measure `during` from the seconds of a run, without Spark: what pipeline.windows makes of the lake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from brokerlab.model.claims import Part
from brokerlab.model.metrics import MEASURES
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_rows
from brokerlab.results.tables import LATENCY_PER_SECOND, RATE_PER_SECOND

Execution = tuple[str, int]  # cell and repeat
Seconds = dict[Execution, dict[int, float]]  # second since 1970 -> figure
MEASURE = "measure"


def window_values(run: RunDirectory, parts: Iterable[Part]) -> dict[str, dict[Execution, float]]:
    """Figure of each part with windows -> execution -> median of the first window / median of the second. Executions
    without a second in either, or with nothing in the second window, have none."""
    asked = {p.figure: p for p in parts if p.windows}
    if not asked:
        return {}
    rates = [row for row in read_rows(run, RATE_PER_SECOND) if row["phase"] == MEASURE]
    begins: dict[Execution, int] = {}
    for row in rates:
        key = (row["cell"], row["repeat"])
        begins[key] = min(begins.get(key, row["second_unix_s"]), row["second_unix_s"])
    found = {}
    for figure, part in asked.items():
        is_rate = part.metric.endswith("_per_s")
        seconds = _rate(rates, part.metric) if is_rate else _latency(run, part.metric)
        values = {k: _over(part, seconds[k], begin) for k, begin in begins.items() if k in seconds}
        found[figure] = {k: value for k, value in values.items() if value is not None}
    return found


def _over(part: Part, seconds: Mapping[int, float], begin: int) -> float | None:
    during, before = (
        [figure for second, figure in seconds.items() if w.from_s <= second - begin < w.to_s] for w in part.windows
    )
    if not during or not before or median(before) <= 0:
        return None
    return median(during) / median(before)


def _rate(rows: Iterable[Mapping[str, Any]], metric: str) -> Seconds:
    side = metric.removesuffix("_per_s")
    found: Seconds = {}
    for row in rows:
        of = found.setdefault((row["cell"], row["repeat"]), {})
        of[row["second_unix_s"]] = of.get(row["second_unix_s"], 0.0) + row[side]
    return found


def _latency(run: RunDirectory, metric: str) -> Seconds:
    """Of the worst group of each second."""
    measure = max((m for m in MEASURES if metric.startswith(f"{m}_")), key=len)
    column = metric.removeprefix(f"{measure}_")
    found: Seconds = {}
    for row in read_rows(run, LATENCY_PER_SECOND):
        if row["measure"] == measure and row["phase"] == MEASURE and row[column] is not None:
            of = found.setdefault((row["cell"], row["repeat"]), {})
            of[row["second_unix_s"]] = max(of.get(row["second_unix_s"], 0.0), float(row[column]))
    return found
