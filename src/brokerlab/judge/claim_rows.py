"""Rows of values and facts to rows of verdicts: what the pipeline does for every claim, and what a study that is being run
does between its looks, without Spark."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from brokerlab.judge.claim_limits import METRICS_ASKED
from brokerlab.judge.claim_measures import CountedWhile, Figures
from brokerlab.judge.claim_text import quantity, unit_of
from brokerlab.judge.claims import CellFacts, CellReason, JudgedClaim, Observed, judged
from brokerlab.model.claims import SAME, Claim
from brokerlab.model.tables import Column, Table
from brokerlab.results.study_tables import CLAIM, CLAIM_PART
from brokerlab.results.verdict import ASPECTS

Row = dict[str, Any]


@dataclass(frozen=True)
class Member:
    """A cell of a study in one run."""

    experiment: str
    name: str
    run: str
    cell: str


@dataclass(frozen=True)
class StudyQuestion:
    """What is to be judged: the claims, and the runs that may answer them. `absent` says why cells did not run, `unmet`
    what the machine lacks for a claim, `command` what measures the cells that have not run yet."""

    study: str
    scale: str
    claims: tuple[Claim, ...]
    experiments: Mapping[str, str]  # cell -> experiment
    members: tuple[Member, ...]
    absent: Mapping[str, str]
    unmet: Mapping[str, str]
    looks: int
    command: str = ""

    @property
    def runs(self) -> list[str]:
        return sorted({m.run for m in self.members})


FIGURE = Table(
    "figure",
    "Values of single repeats, by claim.",
    (
        Column("claim", "string", "", "claim"),
        Column("name", "string", "", "cell of the study"),
        Column("metric", "string", "", "metric, or a metric within windows"),
        Column("run", "string", "", "run"),
        Column("round", "int", "1", "round"),
        Column("value", "double", "", "value"),
    ),
)
FACTS = Table(
    "facts",
    "What is known of the cells of a claim, one row for each run.",
    (
        Column("claim", "string", "", "claim"),
        Column("name", "string", "", "cell of the study"),
        Column("run", "string", "", "run; null where the cell has not been run", nullable=True),
        *(Column(name, "string", "", name, nullable=True) for name in (*SAME, *ASPECTS)),
        Column("rate_per_s", "double", "1/s", "planned rate", nullable=True),
        Column("reasons", "string", "", "JSON: code, affects and text of each reason", nullable=True),
        Column("saturated", "string", "", "what is said of a saturated agent, notes included", nullable=True),
        Column("finished", "long", "1", "executions that finished", nullable=True),
        Column("failed", "long", "1", "executions that failed", nullable=True),
        Column("failure", "string", "", "why the first of them failed", nullable=True),
    ),
)
JUDGED = Table(
    "judged",
    "claim_part with what belongs to its claim.",
    (
        *CLAIM_PART.columns,
        Column("chief", "boolean", "", "the part that decides"),
        *(c for c in CLAIM.columns if c.name not in CLAIM_PART.names()),
        Column("claim_reason", "string", "", "reason of the verdict"),
        Column("claim_measure", "string", "", "measure of the claim"),
    ),
)


def judged_rows(question: StudyQuestion, claim: str, values: Iterable[Row], cells: Iterable[Row]) -> list[Row]:
    """Rows of `judged` for one claim, from its rows of FIGURE and FACTS."""
    number, asked = next((i, c) for i, c in enumerate(question.claims, 1) if c.id == claim)
    facts = list(cells)
    verdict = judged(asked, observed(question, values, facts), question.looks, question.unmet.get(claim, ""))
    runs = sorted({f["run"] for f in facts if f["run"]})
    return [_row(question, verdict, number, i, ",".join(runs)) for i in range(len(asked.parts))]


def observed(question: StudyQuestion, values: Iterable[Row], facts: Iterable[Row]) -> Observed:
    """Rows of FIGURE and FACTS as the judgement takes them."""
    by_metric: dict[str, dict[str, dict[tuple[str, int], float]]] = defaultdict(lambda: defaultdict(dict))
    for row in values:
        by_metric[row["metric"]][row["name"]][row["run"], row["round"]] = row["value"]
    cells: dict[str, list[CellFacts]] = defaultdict(list)
    configured, sizes = {}, {}
    for row in facts:
        if row["run"] is None:
            continue
        cells[row["name"]].append(_cell_facts(row))
        if row["rate_per_s"] is not None:
            configured[row["name"]] = row["rate_per_s"]
        if row["message_bytes"]:
            sizes[row["name"]] = float(row["message_bytes"])
    return Observed(
        Figures(by_metric, question.experiments, configured, sizes), cells, question.absent, question.command
    )


def _cell_facts(row: Row) -> CellFacts:
    reasons = json.loads(row["reasons"]) if row["reasons"] else []
    return CellFacts(
        cell=row["name"],
        run=row["run"],
        facts={name: row[name] or "" for name in SAME},
        answers={aspect: row[aspect] or "valid" for aspect in ASPECTS},
        reasons=tuple(CellReason(r["code"], tuple(r["affects"].split(",")), r["text"]) for r in reasons),
        finished=row["finished"] or 0,
        failed=row["failed"] or 0,
        failure=row["failure"] or "",
        saturated=row["saturated"] or "",
    )


def _row(question: StudyQuestion, verdict: JudgedClaim, number: int, i: int, runs: str) -> Row:
    claim, part = verdict.claim, verdict.parts[i]
    found = part.measured
    published = claim.published[i if len(claim.published) > 1 else 0] if claim.published else None
    return {
        "study": question.study, "scale": question.scale, "claim": claim.id, "number": number, "part": i + 1,
        "measure": part.part.text, "claim_measure": claim.measure, "holds": part.part.bound.text, "says": claim.says,
        "value": found.value if found else None, "low": found.low if found else None, "high": found.high if found else None,
        "n": found.n if found else 0, "place": part.place, "reason": part.reason,
        "chief": part is verdict.chief, "verdict": verdict.verdict, "claim_reason": verdict.reason,
        "published": published,
        "published_low": claim.published_range[0] if claim.published_range else None,
        "published_high": claim.published_range[1] if claim.published_range else None,
        "published_text": claim.published_text, "published_where": claim.where, "unlike": claim.unlike,
        "expects": ",".join(claim.expects), "cells": ",".join(claim.cells), "runs": runs,
    }  # fmt: skip


def wanted_figures(question: StudyQuestion) -> Iterable[tuple[str, str, str]]:
    """(claim, cell, metric) of everything a claim is judged by: the cells that its measure names and no others."""
    for claim in question.claims:
        limits = [part.while_metric for part in claim.parts if isinstance(part, CountedWhile)]
        asked = dict.fromkeys((*claim.metrics, *limits, *METRICS_ASKED))
        yield from ((claim.id, cell, metric) for cell in claim.cells for metric in asked)


def unit_of_claim(row: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> str:
    """The unit of a row of CLAIM: that of the part whose value and range it carries, by the rows of CLAIM_PART."""
    keys = ("claim", "holds", "value", "low", "high")
    chief = next((p for p in parts if all(p[k] == row[k] for k in keys)), None)
    return unit_of(chief["measure"]) if chief is not None else ""


def published(row: Mapping[str, Any], unit: str) -> str:
    """The study's own figure with its range, or its words: 1.36 (1.32 to 1.36)."""
    between = ""
    if row["published_low"] is not None:
        between = f"{quantity(row['published_low'], unit)} to {quantity(row['published_high'], unit)}"
    if row["published"] is None:
        return between or str(row["published_text"])
    return quantity(row["published"], unit) + (f" ({between})" if between else "")
