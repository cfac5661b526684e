"""The page of a study: the verdict on every claim first, then its figures with ours beside the published ones, what differs,
and how it was measured. One HTML file; several studies can share one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brokerlab.errors import UserError
from brokerlab.judge.claim_rows import published, unit_of_claim
from brokerlab.judge.claim_text import quantity, range_text
from brokerlab.model.claims import VERDICTS
from brokerlab.report import figures as text
from brokerlab.report.grid import Cell, grid
from brokerlab.report.markup import Html, join, script_json, tag
from brokerlab.report.page import ALONE, Site, shell

Row = Mapping[str, Any]
_STATUS = {"reproduced": "met", "contradicted": "missed", "cannot tell": "", "not runnable here": "absent-here"}
_MEANING = {
    "reproduced": "the interval lies within what the claim says",
    "contradicted": "the interval lies outside",
    "cannot tell": "it reaches across, or something stops the claim",
    "not runnable here": "a cell cannot run on this machine, it lacks what the claim requires, or a driver of ours is the limit",
}
POINTS_IN_TABLE = 60


@dataclass(frozen=True)
class FigureText:
    """Words of a figure, as the study declares them."""

    title: str
    x: str
    y: str
    unit: str
    along: str

    def heading(self, name: str) -> str:
        """A figure that is named by a number is the study's own of that number; the names of others are for study.yaml."""
        if not self.title:
            return f"Figure {name}"
        return f"Figure {name}: {self.title}" if name.isdecimal() else self.title


@dataclass(frozen=True)
class RunLink:
    """A run behind the answer. `href` is relative to the page, None where its report is gone."""

    run: str
    experiment: str
    verdict: str
    headline: str
    href: str | None


@dataclass(frozen=True)
class StudySource:
    """Everything the page shows of one study."""

    name: str
    title: str
    source: str
    scale: str
    differs: tuple[str, ...]
    claims: Sequence[Row]
    parts: Sequence[Row]
    points: Sequence[Row]
    figures: Mapping[str, FigureText]
    runs: Sequence[RunLink]
    method: Sequence[tuple[str, str]]  # heading and sentence
    contradicts_itself: tuple[str, ...] = ()
    ours: frozenset[str] = frozenset()  # claims that were added here


def write_study_page(file: Path, studies: Sequence[StudySource]) -> Path:
    """Write the page, whole or not at all. UserError where `file` cannot be written."""
    page = render(studies)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
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
        raise UserError(f"{file} cannot be written: {error.strerror or error}", hint=hint) from error
    return file


def render(studies: Sequence[StudySource], site: Site = ALONE) -> str:
    """The whole page as text."""
    drawn = [figure for study in studies for figure in _drawn(study)]
    body = join(
        tag("main", _head(studies), [_study(study, alone=len(studies) == 1) for study in studies]),
        tag("footer", "Made by brokerlab from the study's folder and the lake. To make it again: ",
            tag("code", f"brokerlab study report {studies[0].name if len(studies) == 1 else 'all'}"), "."),
        script_json("figures", drawn),
    )  # fmt: skip
    title = studies[0].name if len(studies) == 1 else "studies"
    return shell(f"{title}: claims", body, {}, ("study.js",), site)


def _head(studies: Sequence[StudySource]) -> Html:
    claims = [row for study in studies for row in study.claims]
    counts = {v: sum(row["verdict"] == v for row in claims) for v in VERDICTS}
    words = [
        tag("span", f"{counts[v]} {v}", class_=f"status {_STATUS[v]}", title=_MEANING[v]) for v in VERDICTS if counts[v]
    ]
    one = studies[0] if len(studies) == 1 else None
    links = [tag("li", tag("a", f"{s.name}, {s.scale}", href=f"#{s.name}")) for s in studies] if one is None else []
    return tag(
        "header",
        tag("p", words, class_="verdict-word"),
        tag("h1", one.title if one else f"{len(studies)} studies", class_="headline"),
        tag("p", f"{one.source.rstrip('.')}. Scale {one.scale}." if one else "", class_="meaning"),
        tag("ul", links, class_="question") if links else None,
        class_="verdict "
        + ("invalid" if counts["contradicted"] else "valid" if counts["reproduced"] else "cannot-tell"),
    )


def _study(study: StudySource, *, alone: bool) -> list[Html | None]:
    heading = None if alone else tag("h2", f"{study.name}: {study.title}", id=study.name, class_="study-name")
    return [heading, _claims(study), *_figures(study), *_said_of_the_study(study), _method(study)]


def _claims(study: StudySource) -> Html:
    heads = ("claim", "verdict", "measured", "holds", "published")
    rows = [_claim(study, row) for row in study.claims]
    told = [_told(study, row) for row in study.claims]
    caption = "Each claim with its verdict. The interval decides; how near the value is to the published one does not."
    return tag(
        "section",
        tag("h2", "Claims"),
        grid(caption, heads, rows, text_columns=(0, 1, 3)),
        tag("div", told, class_="told-claims"),
        id=f"{study.name}-claims",
    )


def _claim(study: StudySource, row: Row) -> list[Any]:
    unit = unit_of_claim(row, study.parts)
    return [
        Cell(row["says"], f"{row['claim']}, added here" if row["claim"] in study.ours else row["claim"]),
        Cell(tag("span", row["verdict"], class_=f"status {_STATUS[row['verdict']]}"), None),
        Cell(text.ABSENT if row["value"] is None else quantity(row["value"], unit), _interval(row, unit)),
        Cell(range_text(row["holds"], unit) or text.ABSENT, None),
        Cell(published(row, unit) or text.ABSENT, row["published_where"] or None),
    ]


def _interval(row: Row, unit: str = "") -> str | None:
    if row["low"] is None:
        return f"n = {row['n']}" if row["n"] else None
    return f"{quantity(row['low'], unit)} to {quantity(row['high'], unit)}, n = {row['n']}"


def _told(study: StudySource, row: Row) -> Html:
    """Why the verdict is what it is, and what is behind it."""
    parts = [p for p in study.parts if p["claim"] == row["claim"]]
    links = {link.run: link for link in study.runs}
    runs = [links[r] for r in row["runs"].split(",") if r in links]
    facts: list[tuple[str, Any]] = [("why", row["reason"]), ("measure", tag("code", row["measure"]))]
    if len(parts) > 1:
        said = [tag("li", f"{p['reason']}") for p in parts]
        facts.append(("parts", tag("ul", said)))
    if row["unlike"]:
        facts.append(("unlike", row["unlike"]))
    if row["expects"]:
        facts.append(("expects", row["expects"].replace(",", ", ")))
    facts.append(("cells", row["cells"].replace(",", ", ")))
    if runs:
        facts.append(("runs", [join(_run_link(r), " ") for r in runs]))
    listed = [join(tag("dt", name), tag("dd", value)) for name, value in facts]
    return tag("details", tag("summary", f"{row['claim']}: {row['reason']}"), tag("dl", listed, class_="facts"))


def _run_link(link: RunLink) -> Html:
    return tag("a", link.run, href=link.href) if link.href else tag("span", link.run)


def _figures(study: StudySource) -> list[Html]:
    return [_figure(study, number_, figure) for number_, figure in study.figures.items()]


def _figure(study: StudySource, name: str, figure: FigureText) -> Html:
    points = [p for p in study.points if p["figure"] == name]
    key = f"{study.name}/{name}"
    caption = "Published points are hollow with dashed lines; ours are filled, with the interval of their median."
    table = None
    if figure.along == "cell":
        rows = _figure_rows(points)[:POINTS_IN_TABLE]
        heads = (figure.x or "where", "series", "published", "measured", "note")
        table = tag("details", tag("summary", "As a table"),
                    grid(f"{figure.heading(name)}: {figure.y}", heads, rows, text_columns=(0, 1, 4))) if rows else None  # fmt: skip
    return tag(
        "section",
        tag("h2", figure.heading(name)),
        tag("p", caption, class_="caption"),
        tag("div", class_="charts one", data_figure=key, data_chart=f"figure-{name}"),
        tag("noscript", "The charts need JavaScript; the tables do not."),
        table,
    )


def _figure_rows(points: Sequence[Row]) -> list[list[Any]]:
    places: dict[tuple[str, str], dict[str, Row]] = {}
    for p in sorted(points, key=lambda p: p["place"]):
        places.setdefault((p["x_text"], p["series"]), {})[p["source"]] = p
    rows = []
    for (x, series), found in places.items():
        theirs, ours = found.get("published"), found.get("measured")
        rows.append(
            [
                x,
                series or text.ABSENT,
                Cell(_quantity(theirs), None),
                Cell(_quantity(ours), _interval(ours) if ours else None),
                (theirs["note"] if theirs else "") or "",
            ]
        )
    return rows


def _quantity(point: Row | None) -> str:
    if point is None or point["y"] is None:
        return text.ABSENT
    unit = "" if point["unit"] in ("", "1") else f" {point['unit']}"
    return f"{text.significant(point['y'])}{unit}"


def _drawn(study: StudySource) -> list[dict[str, Any]]:
    """The figures as study.js takes them."""
    found = []
    for name, figure in study.figures.items():
        points = [p for p in study.points if p["figure"] == name]
        ordered = sorted(points, key=lambda p: p["place"])
        names = list(dict.fromkeys(p["x_text"] for p in ordered)) if any(p["x"] is None for p in points) else None
        keys = dict.fromkeys(
            (p["source"], p["series"]) for p in sorted(points, key=lambda p: p["source"] == "measured")
        )
        series = [
            {
                "source": source, "name": line,
                "points": [{k: p[k] for k in ("x", "x_text", "y", "low", "high", "n")} for p in ordered
                           if (p["source"], p["series"]) == (source, line)],
            }
            for source, line in keys
        ]  # fmt: skip
        found.append(
            {
                "key": f"{study.name}/{name}", "heading": figure.heading(name), "x": figure.x, "y": figure.y,
                "unit": figure.unit, "along": figure.along, "names": names, "series": series,
            }
        )  # fmt: skip
    return found


def _said_of_the_study(study: StudySource) -> list[Html]:
    said = {
        "Where the study's own tables and words do not agree": study.contradicts_itself,
        "What differs from the study": study.differs,
    }
    return [
        tag("section", tag("h2", heading), tag("ul", [tag("li", line) for line in lines], class_="plain-list"))
        for heading, lines in said.items()
        if lines
    ]


def _method(study: StudySource) -> Html:
    rows = [[_run_link(r), r.experiment, r.verdict, r.headline] for r in study.runs]
    facts = [join(tag("dt", name), tag("dd", said)) for name, said in study.method]
    return tag(
        "section",
        tag("h2", "How it was measured"),
        tag("dl", facts, class_="facts"),
        grid("Runs behind the claims", ("run", "experiment", "verdict", ""), rows, text_columns=(0, 1, 2, 3)) if rows else
        tag("p", "Nothing has been measured yet.", class_="absent"),
    )  # fmt: skip
