"""A metric over time, question by question, with the points at which it changed and what changed there."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from brokerlab.judge.change_points import FEWEST, change_points
from brokerlab.judge.comparison import smallest_difference
from brokerlab.model.metrics import COUNTS, METRICS
from brokerlab.results.compare.measured import Found
from brokerlab.results.compare.unlike import Unlike, unlike_cells
from brokerlab.results.history.questions import Asked, asked, chosen, grouped, titles

DEFAULT_METRICS = ("sent_per_s", "received_per_s", "publish_latency_p99_ns", "end_to_end_latency_p99_ns")
NEAR = 2  # runs before and after a change point where a cause is looked for, if nothing changed at it
_NAME_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True)
class Point:
    """One run. `value` is the median of its counted executions, `low` and `high` are the least and greatest of them.
    `apart` says why the point is shown apart and has no part in change points; it is empty for all others."""

    run: str
    started_unix_s: float | None
    value: float
    low: float
    high: float
    n: int
    version: str
    host: str
    apart: str = ""


@dataclass(frozen=True)
class Change:
    """`run` is the first with the new level, `before` the last with the old one."""

    run: str
    before: str
    answer: Literal["better", "worse", "higher", "lower"]  # the last two where neither is better
    ratio: float
    chance: float
    changed: tuple[Unlike, ...]  # between these two runs
    nearby: tuple[tuple[str, Unlike], ...]  # with the run, where nothing changed between them


@dataclass(frozen=True)
class Series:
    """One metric of one question, oldest run first."""

    metric: str
    title: str
    question: Mapping[str, str]
    points: tuple[Point, ...]
    changes: tuple[Change, ...]
    note: str = ""  # why no change points were looked for

    @property
    def counted(self) -> tuple[Point, ...]:
        return tuple(p for p in self.points if not p.apart)

    def levels(self) -> list[tuple[int, int, float]]:
        """Stretches between change points: numbers of the first and last point, and the geometric mean."""
        counted = [(i, p) for i, p in enumerate(self.points) if not p.apart]
        begins = {c.run for c in self.changes}
        stretches: list[list[tuple[int, Point]]] = []
        for i, point in counted:
            if not stretches or point.run in begins:
                stretches.append([])
            stretches[-1].append((i, point))
        return [
            (of[0][0], of[-1][0], statistics.geometric_mean([p.value for _, p in of]))
            for of in stretches
            if all(p.value > 0 for _, p in of)
        ]


@dataclass(frozen=True)
class History:
    series: tuple[Series, ...]
    tested: int  # series that were long enough, corrected together
    notes: tuple[str, ...] = ()


def history(found: Found, metrics: Sequence[str], where: Mapping[str, Sequence[str]]) -> History:
    """Every metric of every question that has a value in any run."""
    groups = grouped(chosen(asked(found.runs), where))
    drafts = [
        (metric, title, of, points)
        for of, title in zip(groups, titles(groups), strict=True)
        for metric in metrics
        if (points := _points(of, metric))
    ]
    tested = sum(_can_be_tested(metric, points) for metric, _, _, points in drafts)
    series = tuple(_series(metric, title, of, points, tested) for metric, title, of, points in drafts)
    notes = (f"not analyzed and left out: {', '.join(found.left_out)}",) if found.left_out else ()
    return History(series, tested, notes)


def _points(of: Sequence[Asked], metric: str) -> list[tuple[Asked, Point]]:
    points = []
    for one in of:
        values = one.cell.values.get(metric, ())
        if not values:
            continue
        apart = one.cell.weakness(METRICS[metric].aspect)
        if not apart and metric not in COUNTS and min(values) <= 0:
            apart = "a value is zero, and zero has no ratio"
        point = Point(
            one.run.name, _started(one), statistics.median(values), min(values), max(values), len(values),
            one.cell.facts.version or "", one.run.environment.host.name, apart,
        )  # fmt: skip
        points.append((one, point))
    return points


def _started(one: Asked) -> float | None:
    if one.run.started_unix_s is not None:
        return one.run.started_unix_s
    try:
        named = datetime.strptime(one.run.name.partition("-")[0], _NAME_TIME)
    except ValueError:
        return None
    return named.replace(tzinfo=UTC).timestamp()


def _can_be_tested(metric: str, points: Sequence[tuple[Asked, Point]]) -> bool:
    return metric not in COUNTS and sum(not p.apart for _, p in points) >= FEWEST


def _series(metric: str, title: str, of: Sequence[Asked], points: Sequence[tuple[Asked, Point]], tested: int) -> Series:
    all_points, question = tuple(p for _, p in points), of[-1].question
    counted = [(one, p) for one, p in points if not p.apart]
    if not _can_be_tested(metric, points):
        few = f"change points need {FEWEST} runs that count, there are {len(counted)}"
        note = "counts have no change points: a single one matters" if metric in COUNTS else few
        return Series(metric, title, question, all_points, (), note)
    smallest = smallest_difference(counted[-1][0].run.plan.smallest_difference, metric)
    found = change_points([p.value for _, p in counted], series=tested, smallest=smallest)
    cells = [one for one, _ in counted]
    changes = tuple(_change(metric, cells, c.at, c.ratio, c.chance) for c in found)
    return Series(metric, title, question, all_points, changes)


def _change(metric: str, cells: Sequence[Asked], at: int, ratio: float, chance: float) -> Change:
    way: Literal["higher", "lower"] = "higher" if ratio > 1 else "lower"
    better = METRICS[metric].better
    changed, nearby = _differ(cells, at), []
    if not changed:
        around = (k for k in range(max(at - NEAR, 1), min(at + NEAR, len(cells) - 1) + 1) if k != at)
        nearby = [(cells[k].run.name, unlike) for k in around for unlike in _differ(cells, k)]
    answer = way if better is None else "better" if better == way else "worse"
    return Change(cells[at].run.name, cells[at - 1].run.name, answer, ratio, chance, changed, tuple(nearby))


def _differ(cells: Sequence[Asked], at: int) -> tuple[Unlike, ...]:
    """Between a run and the one before it."""
    before, after = cells[at - 1], cells[at]
    return unlike_cells((before.cell, before.run.environment), (after.cell, after.run.environment))
