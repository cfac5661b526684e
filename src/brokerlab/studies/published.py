"""published.csv: the study's own figures as points, each with the cell that repeats it."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from brokerlab.errors import Problem

FILE = "published.csv"
COLUMNS = ("figure", "series", "x", "y", "low", "high", "cell", "note")
NEEDED = ("figure", "x", "y")


@dataclass(frozen=True)
class Point:
    """`y` is None where the study gives a comparison or words only; the cell's figure is drawn there all the same."""

    figure: str
    series: str
    x: str
    y: float | None
    low: float | None
    high: float | None
    cell: str
    note: str


def read_published(text: str, figures: Mapping[str, Collection[str]]) -> tuple[list[Point], list[Problem]]:
    """The points, and what is wrong with the file. `figures` are the cells of each figure."""
    rows = list(csv.reader(io.StringIO(text)))
    heads = [h.strip() for h in rows[0]] if rows else []
    problems = [
        Problem(FILE, 1, name, "is not a column", None, _near(name, COLUMNS)) for name in heads if name not in COLUMNS
    ]
    problems += [
        Problem(FILE, 1, name, "is missing: the first line names the columns") for name in NEEDED if name not in heads
    ]
    if problems:
        return [], problems
    points = []
    for line, row in enumerate(rows[1:], 2):
        if not any(field.strip() for field in row):
            continue
        if len(row) != len(heads):
            problems.append(Problem(FILE, line, "line", f"must have {len(heads)} values, has {len(row)}"))
            continue
        values = {name: value.strip() for name, value in zip(heads, row, strict=True)}
        found = _problems(values, line, figures)
        problems += found
        if not found:
            points.append(_point(values))
    return points, problems


def _problems(values: dict[str, str], line: int, figures: Mapping[str, Collection[str]]) -> list[Problem]:
    found = []
    for name in ("y", "low", "high"):
        try:
            _number(values.get(name, ""))
        except ValueError:
            found.append(Problem(FILE, line, name, "must be a number or empty", values[name]))
    figure = values["figure"]
    if figure not in figures:
        near = _near(figure, figures)
        found.append(Problem(FILE, line, "figure", "no experiment has this figure", figure, near))
    elif values.get("cell") and values["cell"] not in figures[figure]:
        near = _near(values["cell"], figures[figure])
        found.append(Problem(FILE, line, "cell", f"is not among the cells of figure {figure}", values["cell"], near))
    return found


def _point(values: dict[str, str]) -> Point:
    return Point(
        figure=values["figure"],
        series=values.get("series", ""),
        x=values["x"],
        y=_number(values["y"]),
        low=_number(values.get("low", "")),
        high=_number(values.get("high", "")),
        cell=values.get("cell", ""),
        note=values.get("note", ""),
    )


def _number(text: str) -> float | None:
    return float(text) if text else None


def _near(name: str, known: Collection[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)
