"""A history for a terminal: a sparkline for each series, and a line for each change point."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

import click

from brokerlab.cli.compare_text import quantity
from brokerlab.model.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from brokerlab.judge.history import Change, History, Point, Series

_BARS = "▁▂▃▄▅▆▇█"
_APART, _CHANGE = "×", "│"
_WIDEST = 60  # runs of a sparkline, the latest
_LEAST_SPAN = math.log(1.2)  # from bottom to top: less would show noise as mountains
_SHOWN = 4  # of what changed at one point, and of runs shown apart
_COLORS = {"better": "green", "worse": "red"}


def text_lines(found: History) -> list[str]:
    lines: list[str] = []
    for metric, of_metric in groupby(
        sorted(found.series, key=lambda s: list(METRICS).index(s.metric)), lambda s: s.metric
    ):
        lines += [click.style(METRICS[metric].words, bold=True)]
        for series in of_metric:
            lines += _series_lines(series)
        lines.append("")
    return [*lines, *(f"note: {n}" for n in found.notes), summary_line(found)]


def summary_line(found: History) -> str:
    changes = [c.answer for s in found.series for c in s.changes]
    said = (
        ", ".join(f"{changes.count(w)} {w}" for w in ("worse", "better", "higher", "lower") if w in changes)
        or "no change points"
    )
    if not found.series:
        return "no run has such a figure"
    series = f"{len(found.series)} series, {found.tested} long enough for change points"
    return f"{said} ({series}; chance of any false one: at most 5 %)"


def _series_lines(series: Series) -> list[str]:
    first, last = series.points[0], series.points[-1]
    counted = series.counted
    runs = f"{len(series.points)} run{'s' if len(series.points) != 1 else ''}, {day(first)}"
    if day(last) != day(first):
        runs += f" to {day(last)}"
    latest = f"  latest {quantity(series.metric, counted[-1].value)}" if counted else ""
    lines = [f"  {series.title}: {runs}", f"    {sparkline(series)}{latest}"]
    lines += [line for change in series.changes for line in _change_lines(change)]
    lines += _apart_lines([p for p in series.points if p.apart])
    return [*lines, *([f"    {series.note}"] if series.note else [])]


def _change_lines(change: Change) -> list[str]:
    times = f"{change.ratio:.3f}×" if 0.9 <= change.ratio < 1.1 else f"{change.ratio:.2f}×"
    chance = f"{change.chance * 100:.1g} %" if change.chance >= 0.001 else "at most 0.1 %"
    lines = [
        click.style(f"    {change.answer}: {times} since {change.run} (chance {chance})", fg=_COLORS.get(change.answer))
    ]
    return [*lines, *(f"      {text}" for text in change_texts(change))]


def change_texts(change: Change) -> list[str]:
    """What changed at a change point; where nothing did, what changed within a few runs of it."""
    if change.changed:
        return _few([f"changed: {unlike}" for unlike in change.changed])
    if change.nearby:
        return ["nothing that was recorded changed here", *_few([f"but in {run}: {u}" for run, u in change.nearby])]
    return ["nothing that was recorded changed here: not version, settings or host"]


def _few(texts: Sequence[str]) -> list[str]:
    more = len(texts) - _SHOWN
    return [*texts[:_SHOWN], f"... and {more} more: --json has them all"] if more > 1 else list(texts)


def _apart_lines(points: Sequence[Point]) -> list[str]:
    if not points:
        return []
    lines = [f"    {_APART} apart: {p.run}: {p.apart}" for p in points[-_SHOWN:]]
    more = len(points) - _SHOWN
    return [*([f"    {_APART} apart: {more} earlier runs"] if more > 0 else []), *lines]


def sparkline(series: Series) -> str:
    """One character for each run, by the logarithm of its value; × for those apart, │ before a change."""
    points = series.points[-_WIDEST:]
    begins = {c.run for c in series.changes}
    place = _scale(p.value for p in points if not p.apart and p.value > 0)
    shown = []
    for point in points:
        shown += [_CHANGE] if point.run in begins else []
        shown.append(_APART if point.apart or point.value <= 0 else _BARS[place(point.value)])
    return "".join(shown)


def _scale(values: Iterable[float]) -> _Place:
    logs = [math.log(v) for v in values] or [0.0]
    low, high = min(logs), max(logs)
    spare = max(_LEAST_SPAN - (high - low), 0.0) / 2
    return _Place(low - spare, max(high - low, _LEAST_SPAN))


class _Place:
    """The number of the bar for a value."""

    def __init__(self, low: float, span: float) -> None:
        self._low, self._span = low, span

    def __call__(self, value: float) -> int:
        share = (math.log(value) - self._low) / self._span
        return min(max(int(share * len(_BARS)), 0), len(_BARS) - 1)


def day(point: Point) -> str:
    if point.started_unix_s is None:
        return point.run
    return datetime.fromtimestamp(point.started_unix_s, UTC).strftime("%Y-%m-%d")
