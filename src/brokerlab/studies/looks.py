"""What the runs of a study say so far, read without Spark: which claims are clear, and what was calibrated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from brokerlab.judge.claim_limits import SATURATED
from brokerlab.judge.claim_rows import Member, Row, StudyQuestion, observed, wanted_figures
from brokerlab.judge.claims import JudgedClaim, judged
from brokerlab.lake.facts import cell_rows, execution_rows, reason_rows
from brokerlab.lake.survey import Candidate
from brokerlab.model.claims import SAME, Part
from brokerlab.results.derived_tables import EXECUTION_FIGURE
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_rows
from brokerlab.results.tables import RUN_SUMMARY
from brokerlab.results.verdict import ASPECTS
from brokerlab.studies.window_values import window_values


def judged_so_far(question: StudyQuestion, runs: Sequence[RunDirectory]) -> list[JudgedClaim]:
    """Every claim by the analyzed runs; the same judgement as the pipeline's, on the same values."""
    parts = [part for claim in question.claims for part in claim.parts]
    figures = [row for run in runs for row in _figures(run, question.members, parts)]
    facts = [row for run in runs for row in _facts(run, question.members)]
    wanted = set(wanted_figures(question))
    found = []
    for claim in question.claims:
        values = [f for f in figures if (claim.id, f["name"], f["metric"]) in wanted]
        of_cells = [f for f in facts if f["name"] in claim.cells]
        unmet = question.unmet.get(claim.id, "")
        found.append(judged(claim, observed(question, values, of_cells), question.looks, unmet))
    return found


def calibrated_per_s(run: RunDirectory, metric: str) -> float | None:
    """The median of a metric over all executions of a calibration's only cell; None where it has no value."""
    values = [v for row in read_rows(run, RUN_SUMMARY) if row["metric"] == metric for v in row["values"]]
    return median(values) if values else None


def _figures(run: RunDirectory, members: Iterable[Member], parts: Sequence[Part]) -> list[Row]:
    names = {m.cell: m.name for m in members if m.run == run.name}
    counted = {(e["cell"], e["repeat"]): e["round"] for e in execution_rows(_candidate(run)) if e["counted"]}
    rounds = {execution: number for execution, number in counted.items() if execution[0] in names}
    found = [
        {
            "name": names[row["cell"]],
            "metric": row["metric"],
            "run": run.name,
            "round": rounds[key],
            "value": row["value"],
        }
        for row in read_rows(run, EXECUTION_FIGURE)
        if (key := (row["cell"], row["repeat"])) in rounds
    ]
    for figure, values in window_values(run, parts).items():
        found += [
            {"name": names[key[0]], "metric": figure, "run": run.name, "round": rounds[key], "value": value}
            for key, value in values.items()
            if key in rounds
        ]
    return found


def _facts(run: RunDirectory, members: Iterable[Member]) -> list[Row]:
    names = {m.cell: m.name for m in members if m.run == run.name}
    candidate = _candidate(run)
    executions = execution_rows(candidate)
    aside = {(e["cell"], e["repeat"]) for e in executions if e["state"] == "finished" and not e["counted"]}
    told_of = [r for r in reason_rows(candidate) if (r["cell"], r["repeat"]) not in aside]
    reasons = [r for r in told_of if r["weight"] != "note"]
    found = []
    for row in cell_rows(candidate):
        if row["cell"] not in names:
            continue
        mine = [e for e in executions if e["cell"] == row["cell"]]
        told = [
            {"code": r["code"], "affects": r["affects"], "text": r["text"]}
            for r in reasons
            if r["cell"] in ("", row["cell"])
        ]
        failures = sorted(e["reason"] or "" for e in mine if e["state"] == "failed")
        known: dict[str, Any] = {name: _text(row[name]) for name in SAME} | {a: row[a] for a in ASPECTS}
        found.append(
            known
            | {
                "name": names[row["cell"]],
                "run": run.name,
                "rate_per_s": row["rate_per_s"],
                "reasons": json.dumps(told),
                "saturated": min(
                    (r["text"] for r in told_of if r["code"] == SATURATED and r["cell"] == row["cell"]), default=None
                ),
                "finished": sum(e["state"] == "finished" for e in mine),
                "failed": len(failures),
                "failure": next(iter(failures), ""),
            }
        )
    return found


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _candidate(run: RunDirectory) -> Candidate:
    return Candidate(run.plan().run, run, "")
