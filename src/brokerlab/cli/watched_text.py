"""A watched run for a terminal: what was watched, what happened to it, and its series in an aligned table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brokerlab.cli.text import aligned, bytes_text, count_text

if TYPE_CHECKING:
    from brokerlab.results.directory import RunDirectory
    from brokerlab.results.watched import SeriesRow

_SHOWN = 60
_FIRST = ("group", "destination", "broker", "jvm", "process", "host")  # scopes, in the order in which they are shown


def watched_lines(run: RunDirectory) -> list[str]:
    """Headline, changes, and the series that there is room for."""
    from brokerlab.results.watched import read_readings, series_rows

    verdict = run.verdict()
    lines = [] if verdict is None else [verdict.headline, *(f"  note: {r.text}" for r in verdict.reasons)]
    found = sorted(series_rows(read_readings(run)[0]), key=_place)
    head = ["", "metric", "last", "mean", "least", "most", "grew by"]
    table = aligned([head, *(_row(row) for row in found[:_SHOWN])])
    more = len(found) - _SHOWN
    hidden = [f"and {more:,} more: brokerlab export {run.name} csv --table reading_per_second"] if more > 0 else []
    return [*lines, "", *table, *hidden]


def _place(row: SeriesRow) -> tuple[int, str, str]:
    scope = row.subject.partition(":")[0]
    return (_FIRST.index(scope) if scope in _FIRST else len(_FIRST)), row.subject, row.metric


def _row(row: SeriesRow) -> list[str]:
    if row.increase is None:
        return [row.subject, row.metric, *(_value(v, row.unit) for v in (row.last, row.mean, row.least, row.most)), ""]
    rate = "" if row.per_s is None else f"{_value(row.per_s, row.unit)}/s"
    return [row.subject, row.metric, _value(row.last, row.unit), rate, "", "", _value(row.increase, row.unit)]


def _value(value: float, unit: str) -> str:
    if unit in ("B", "B/s"):
        return bytes_text(value) + unit[1:]
    return count_text(value) + ("" if unit in ("1", "1/s") else f" {unit}")
