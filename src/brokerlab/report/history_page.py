"""One HTML page for a history: every series as a chart, with its change points, what changed at them, and all its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from brokerlab.judge.history import Change, History, Point, Series
from brokerlab.model.metrics import METRICS
from brokerlab.report import figures
from brokerlab.report.compare_page import write_whole
from brokerlab.report.grid import Cell, grid
from brokerlab.report.markup import Html, tag
from brokerlab.report.page import shell
from brokerlab.results.compare.unlike import Unlike

_SHOWN = 6  # of what changed at one point; the others are behind a click
_KINDS = {"better": "met", "worse": "missed"}


def write_page(file: Path, found: History) -> None:
    """Write the page, whole or not at all. UserError where `file` cannot be written."""
    write_whole(file, render(found))


def render(found: History) -> str:
    """The whole page as text."""
    in_order = sorted(found.series, key=lambda s: list(METRICS).index(s.metric))
    sections, number = [], 0
    for metric, of_metric in groupby(in_order, lambda s: s.metric):
        parts = []
        for series in of_metric:
            parts.append(_series_part(series, number))
            number += 1
        sections.append(
            tag(
                "section",
                tag("h2", _capital(figures.metric_name(metric))),
                tag("div", parts, class_="charts histories"),
            )
        )
    body = tag("main", _head(found), sections or tag("section", tag("p", "No run has such a figure.", class_="absent")))
    return shell("history", body, {"history": [_data(s) for s in in_order]})


def _head(found: History) -> Html:
    answers = [c.answer for s in found.series for c in s.changes]
    said = ", ".join(f"{answers.count(w)} {w}" for w in ("worse", "better", "higher", "lower") if w in answers)
    kind = "invalid" if "worse" in answers else "valid"
    return tag(
        "header",
        tag("p", f"{said} over time" if said else "No change points", class_="verdict-word"),
        tag(
            "p",
            f"{len(found.series)} series, {found.tested} long enough for change points. Of "
            "series that never changed, any change point at all appears in at most 5 of 100 pages.",
            class_="meaning",
        ),
        tag(
            "p",
            "A dot is the median of one run, the bar its least and greatest repeat, a dashed line the level between change "
            "points. Hollow dots are runs that are not valid: they have no part in levels and change points. The vertical axes "
            "do not begin at zero.",
            class_="caption",
        ),
        [tag("p", note, class_="where") for note in found.notes],
        class_=f"verdict {kind}",
    )


def _series_part(series: Series, number: int) -> Html:
    apart = [p for p in series.points if p.apart]
    return tag(
        "article",
        tag("div", data_history=number),
        tag("ul", [_change_line(c) for c in series.changes], class_="changes") if series.changes else None,
        tag("p", series.note, class_="where") if series.note else None,
        tag(
            "details",
            tag("summary", f"{figures.plural(len(apart), 'run')} shown apart"),
            tag("ul", [tag("li", tag("b", p.run), f": {p.apart}") for p in apart], class_="where"),
        )
        if apart
        else None,
        tag("details", tag("summary", f"all {figures.plural(len(series.points), 'run')}"), _table(series)),
    )


def _change_line(change: Change) -> Html:
    return tag(
        "li",
        tag("span", f"{figures.times(change.ratio)} {change.answer}", class_=f"status {_KINDS.get(change.answer, '')}"),
        f" since {change.run}, chance {_percent(change.chance)}",
        _causes(change),
    )


def _causes(change: Change) -> Html:
    if change.changed:
        return _list([_cause(u) for u in change.changed])
    said = "Nothing that was recorded changed here: not version, settings or host."
    near = [tag("li", f"in {run}: ", _cause_text(u)) for run, u in change.nearby]
    return _list([tag("li", said), *near])


def _list(items: Sequence[Html]) -> Html:
    more = len(items) - _SHOWN
    if more <= 1:
        return tag("ul", items, class_="where")
    rest = tag("details", tag("summary", f"{more} more"), tag("ul", items[_SHOWN:], class_="where"))
    return tag("ul", items[:_SHOWN], tag("li", rest), class_="where")


def _cause(unlike: Unlike) -> Html:
    return tag("li", _cause_text(unlike))


def _cause_text(unlike: Unlike) -> list[object]:
    return [f"{unlike.what}: {unlike.base} → ", tag("b", unlike.candidate)]


def _table(series: Series) -> Html:
    begins = {c.run: c for c in series.changes}
    rows = [
        [
            Cell(p.run, _when(p)),
            Cell(figures.quantity(series.metric, p.value), "apart" if p.apart else None, weak=bool(p.apart)),
            f"{figures.quantity(series.metric, p.low)} to {figures.quantity(series.metric, p.high)}",
            str(p.n),
            p.version or figures.ABSENT,
            p.host,
            begins[p.run].answer if p.run in begins else "",
        ]
        for p in reversed(series.points)
    ]
    heads = ("run", "median", "least to greatest", "repeats", "version", "host", "change")
    return grid("The latest run first", heads, rows, text_columns=(0, 4, 5, 6))


def _data(series: Series) -> dict[str, Any]:
    """What the chart draws."""
    place = {p.run: i for i, p in enumerate(series.points)}
    counted = series.counted
    latest = f"latest {figures.quantity(series.metric, counted[-1].value)}" if counted else "no run counts"
    return {
        "title": series.title,
        "sub": f"{figures.plural(len(series.points), 'run')}, {latest}",
        "words": figures.metric_name(series.metric),
        "unit": METRICS[series.metric].unit,
        "points": [asdict(p) for p in series.points],
        "levels": [list(level) for level in series.levels()],
        "changes": [
            {"run": c.run, "index": place[c.run], "answer": c.answer, "ratio": c.ratio} for c in series.changes
        ],
    }


def _when(point: Point) -> str | None:
    if point.started_unix_s is None:
        return None
    return datetime.fromtimestamp(point.started_unix_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _percent(chance: float) -> str:
    return f"{chance * 100:.1g} %" if chance >= 0.001 else "at most 0.1 %"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
