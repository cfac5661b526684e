"""One HTML page for a comparison: ratios with intervals, what is unlike, and the charts of both sides laid over each other."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brokerlab.errors import UserError
from brokerlab.judge.compared import ANSWERS, Answered, Compared, ComparedCell
from brokerlab.judge.compared_headline import headline
from brokerlab.model.state import RunState
from brokerlab.report import figures
from brokerlab.report.embedded import page_data
from brokerlab.report.grid import Cell, grid
from brokerlab.report.markup import Html, tag
from brokerlab.report.page import ALONE, Site, shell
from brokerlab.report.sections.charts import spectrum_section, together_section
from brokerlab.report.source import Source, TableData
from brokerlab.results.compare.measured import Source as Runs
from brokerlab.results.compare.sides import Side
from brokerlab.results.tables import LATENCY_HISTOGRAM, RATE_PER_SECOND, RESULT_TABLES

_KINDS = {"better": "met", "worse": "missed", "same": "valid", "cannot tell": ""}
_LEAST_REACH = math.log(1.1)  # of the scale of ratios, so that nearly equal ones do not look far apart


def write_page(file: Path, found: Compared, sides: Sequence[Side], runs: Runs) -> None:
    """Write the page, whole or not at all. UserError where `file` cannot be written."""
    write_whole(file, render(found, sides, runs))


def write_whole(file: Path, page: str) -> None:
    """Write a file that --html names. UserError where it cannot be written."""
    try:
        fd, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as f:
                f.write(page)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(file)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        hint = "give a file in a directory that exists and can be written"
        raise UserError(f"--html: {file} cannot be written: {error.strerror or error}", hint=hint) from error


def render(found: Compared, sides: Sequence[Side], runs: Runs, site: Site = ALONE) -> str:
    """The whole page as text."""
    letters = {side.name: letter(i) for i, side in enumerate(sides)}
    source = _charted(sides, runs)
    body = tag(
        "main",
        _head(found, letters),
        [_cell_section(cell, letters[cell.candidate]) for cell in found.cells],
        together_section(source),
        spectrum_section(source),
    )
    data = page_data(source)
    styled = {**data, "cells": _styled(data["cells"], found, letters)}
    return shell(f"compare: {found.base}", body, styled, site=site)


def letter(number: int) -> str:
    """A, B, ... Z, 27, 28: what a side is called in charts."""
    return chr(ord("A") + number) if number < 26 else str(number + 1)


def _head(found: Compared, letters: dict[str, str]) -> Html:
    counts = [f"{found.count(word)} {word}" for word in ANSWERS if found.count(word)]
    worst = next((word for word in ANSWERS if found.count(word)), "cannot tell")
    kind = {"worse": "invalid", "cannot tell": "cannot-tell"}.get(worst, "valid")
    sides = [
        tag(
            "li",
            tag("b", letters[name]),
            f" {name}",
            " (base)" if i == 0 else "",
            tag("span", f" {of}", class_="where"),
        )
        for i, (name, of) in enumerate(zip((found.base, *found.candidates), map(", ".join, found.runs), strict=True))
    ]
    return tag(
        "header",
        tag("p", ", ".join(counts) or "nothing to compare", class_="verdict-word"),
        tag("h1", headline(found), class_="headline"),
        tag(
            "p",
            f"Ratios are candidate / base. {found.tests} tests were corrected together: among identical sides, any better "
            "or worse at all appears in at most 5 of 100 comparisons.",
            class_="meaning",
        ),
        tag("ul", sides, class_="question"),
        [tag("p", note, class_="where") for note in found.notes],
        class_=f"verdict {kind}",
    )


def _cell_section(cell: ComparedCell, name: str) -> Html:
    same = cell.base_cell == cell.candidate_cell
    title = f"{name}: {cell.candidate_cell}" if same else f"{name}: {cell.base_cell} → {cell.candidate_cell}"
    reach = max([_LEAST_REACH, *(_reach(a) for a in cell.answers)])
    rows = [_row(a, reach) for a in cell.answers]
    heads = ("metric", "base", "candidate", "ratio", f"{math.exp(-reach):.2f}× to {math.exp(reach):.2f}×", "answer")
    unlike = [tag("li", str(u), class_="unlike" if u.forbids else None) for u in cell.unlike]
    return tag(
        "section",
        tag("h2", f"{title} ({cell.durability})"),
        [tag("p", note, class_="caption") for note in cell.notes],
        tag(
            "details", tag("summary", f"unlike in {figures.plural(len(unlike), 'point')}"), tag("ul", unlike), open=True
        )
        if unlike
        else None,
        grid("Medians, and the ratio with its interval", heads, rows, text_columns=(0, 4, 5), kind="stack figures")
        if rows
        else None,
    )


def _row(one: Answered, reach: float) -> list[Any]:
    interval = None if one.low is None or one.high is None else f"{one.low:.3f}× to {one.high:.3f}×"
    return [
        figures.metric_name(one.metric),
        Cell(figures.quantity(one.metric, one.base), f"n = {one.n_base}"),
        Cell(figures.quantity(one.metric, one.candidate), f"n = {one.n_candidate}"),
        Cell(figures.ABSENT if one.ratio is None else f"{one.ratio:.3f}×", interval),
        _bar(one, reach),
        Cell(tag("span", one.answer, class_=f"status {_KINDS[one.answer]}"), one.reason or None),
    ]


def _bar(one: Answered, reach: float) -> Html | None:
    """The ratio and its interval on a logarithmic scale; the tick in the middle is 1."""
    if one.ratio is None or one.low is None or one.high is None:
        return None

    def place(ratio: float) -> float:
        share = 0.5 + math.log(ratio) / (2 * reach) if ratio > 0 else 0.0
        return round(100 * min(max(share, 0.0), 1.0), 2)

    left, right = place(one.low), place(one.high)
    series = {"better": 2, "worse": 1}.get(one.answer, 0)
    return tag(
        "div",
        tag("i", class_="tick", style="left:50%"),
        tag("i", class_="whisker", style=f"left:{left}%;width:{max(round(right - left, 2), 0.4)}%"),
        tag("i", class_="dot", style=f"left:{place(one.ratio)}%"),
        class_=f"track series-{series}",
        style="min-width:220px",
        role="img",
        aria_label=f"{one.low:.3f} to {one.high:.3f}",
    )


def _reach(one: Answered) -> float:
    """How far the interval is from 1; what is beyond a factor 100 is cut."""
    ends = [v for v in (one.low, one.high, one.ratio) if v is not None and v > 0]
    return min(max((abs(math.log(v)) for v in ends), default=0.0) * 1.05, math.log(100))


def _styled(cells: Sequence[dict[str, Any]], found: Compared, letters: dict[str, str]) -> list[dict[str, Any]]:
    """With one color for cells that are compared with each other, and one kind of dashes for each side. Where there is but one
    such group, each side has its own color."""
    base = letters[found.base]
    partner = {f"{letters[c.candidate]} {c.candidate_cell}": f"{base} {c.base_cell}" for c in found.cells}
    groups = list(dict.fromkeys(partner.get(c["cell"], c["cell"]) for c in cells))
    sides = list(letters.values())
    styled = []
    for cell in cells:
        side = sides.index(cell["cell"].partition(" ")[0])
        group = groups.index(partner.get(cell["cell"], cell["cell"]))
        styled.append({**cell, "color": group if len(groups) > 1 else side, "dash": side})
    return styled


def _charted(sides: Sequence[Side], runs: Runs) -> Source:
    """The tables that charts draw, of the latest run of each side; a cell is called after its side and broker."""
    tables = {}
    for table in (RATE_PER_SECOND, LATENCY_HISTOGRAM):
        columns: dict[str, list[Any]] = {name: [] for name in RESULT_TABLES[table.name].names()}
        for i, side in enumerate(sides):
            names = {s.members[-1].plan.cell: f"{letter(i)} {s.label}" for s in side.subjects}
            for row in runs.table(side.runs[-1].name, table).to_pylist():
                if row["cell"] in names:
                    for name, values in columns.items():
                        values.append(names[row["cell"]] if name == "cell" else row[name])
        tables[table.name] = TableData(columns)
    return Source("compare", None, None, RunState(), None, tables)
