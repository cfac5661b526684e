"""The tables of a study, made by the pipeline from the lake's gold tables: tables/<name>/*.parquet in its directory."""

from __future__ import annotations

from brokerlab.model.tables import Column, Table

_STUDY = Column("study", "string", "", "name of the study")
_SCALE = Column("scale", "string", "", "quick or full")
_CLAIM = Column("claim", "string", "", "id of the claim")


def _interval(of: str) -> tuple[Column, ...]:
    return (
        Column("value", "double", "", f"the measure{of}; null where it cannot be computed", nullable=True),
        Column("low", "double", "", "lower end of its interval; null with fewer than 4 repeats", nullable=True),
        Column("high", "double", "", "upper end likewise", nullable=True),
        Column("n", "int", "1", "repeats, or pairs of repeats, of the cells that have fewest"),
    )


CLAIM = Table(
    "claim",
    "One row per claim of a study: its verdict, and the part of its measure that decides.",
    (
        _STUDY, _SCALE,
        Column("number", "int", "1", "place of the claim in the study, from 1"),
        _CLAIM,
        Column("says", "string", "", "the claim in one sentence"),
        Column("measure", "string", "", "the measure as written"),
        Column("holds", "string", "", "the range in which the deciding part holds"),
        Column("verdict", "string", "", "reproduced: the interval is within the range; contradicted: it is outside; cannot tell: it reaches across, or something stops the claim; not runnable here"),
        Column("reason", "string", "", "why, in one sentence"),
        *_interval(" of the deciding part"),
        Column("published", "double", "", "the study's own figure for the deciding part", nullable=True),
        Column("published_low", "double", "", "lower end where the study gives several", nullable=True),
        Column("published_high", "double", "", "upper end likewise", nullable=True),
        Column("published_text", "string", "", "the study's words where it gives no figure"),
        Column("published_where", "string", "", "section, figure or table of the study"),
        Column("unlike", "string", "", "why cells of unlike driver path or durability are compared; empty where they are alike"),
        Column("expects", "string", "", "reasons of verdicts that do not stop the claim, separated by commas"),
        Column("cells", "string", "", "cells of the study that it is judged by, separated by commas"),
        Column("runs", "string", "", "runs behind it, separated by commas"),
    ),
)  # fmt: skip

CLAIM_PART = Table(
    "claim_part",
    "One row per measure of a claim: several where it is all(...).",
    (
        _STUDY, _SCALE, _CLAIM,
        Column("part", "int", "1", "place in the measure, from 1"),
        Column("measure", "string", "", "the measure as written"),
        Column("holds", "string", "", "the range in which it holds"),
        *_interval(""),
        Column("place", "string", "", "where the interval lies: inside the range, outside, across; empty where there is none"),
        Column("published", "double", "", "the study's own figure", nullable=True),
        Column("reason", "string", "", "why, in one sentence"),
    ),
)  # fmt: skip

FIGURE_POINT = Table(
    "figure_point",
    "Points of a study's figures, published and measured, on the same axes.",
    (
        _STUDY, _SCALE,
        Column("figure", "string", "", "number of the figure or table in the study"),
        Column("source", "string", "", "published or measured"),
        Column("series", "string", "", "line that the point belongs to"),
        Column("place", "int", "1", "order within the figure"),
        Column("x", "double", "", "horizontal place; null where the axis has names", nullable=True),
        Column("x_text", "string", "", "horizontal place as written"),
        Column("y", "double", "", "median of the cell's repeats, or the study's figure, in the figure's unit; null where the study gives words only", nullable=True),
        Column("low", "double", "", "lower end of the 95 % bootstrap interval of the median, the smallest value when n < 5; published: as the study gives it", nullable=True),
        Column("high", "double", "", "upper end likewise", nullable=True),
        Column("n", "int", "1", "repeats; 0 for what is published"),
        Column("unit", "string", "", "unit of y"),
        Column("cell", "string", "", "cell of the study; empty where none repeats the point"),
        Column("runs", "string", "", "runs behind it, separated by commas"),
        Column("note", "string", "", "what to know of the published point"),
    ),
)  # fmt: skip

STUDY_TABLES = {t.name: t for t in (CLAIM, CLAIM_PART, FIGURE_POINT)}
