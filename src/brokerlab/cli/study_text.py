"""Studies, their plans and verdicts as people read them in a terminal, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brokerlab.cli.text import aligned, bytes_text, duration_text
from brokerlab.cli.verdict_text import terminal_width
from brokerlab.judge.claim_rows import published, unit_of_claim
from brokerlab.judge.claim_text import quantity, range_text
from brokerlab.model.claims import VERDICTS
from brokerlab.studies.record import study_directory

if TYPE_CHECKING:
    from brokerlab.studies.answer import StudyAnswer
    from brokerlab.studies.load import Study
    from brokerlab.studies.planning import StudyPlan

COLORS = {"reproduced": "green", "contradicted": "red", "cannot tell": "yellow", "not runnable here": "cyan"}


def list_lines(studies: Sequence[Study], runs: Path) -> list[str]:
    """One line for each study, then how many claims were published and how many were added here."""
    if not studies:
        return ["no studies come with this version"]
    rows = [["study", "claims", "added", "cells", "measured", ""]]
    for study in studies:
        done = ", ".join(scale for scale in study.scales() if _steps(study, scale, runs)) or "no"
        added = len(study.ours())
        rows.append(
            [study.name, str(len(study.claims) - added), str(added), str(len(study.cells)), done, study.fields.title]
        )
    return [*aligned(rows, right=(1, 2, 3)), "", count_line(studies)]


def count_line(studies: Sequence[Study]) -> str:
    added = sum(len(study.ours()) for study in studies)
    published = sum(len(study.claims) for study in studies) - added
    return f"{published} published claims and {added} added here"


def study_document(study: Study, runs: Path) -> dict[str, Any]:
    return {
        "study": study.name,
        "title": study.fields.title,
        "scales": list(study.scales()),
        "cells": [c.name for c in study.cells],
        "claims": [{"claim": c.id, "says": c.says, "ours": c.id in study.ours()} for c in study.claims],
        "runs": {scale: _steps(study, scale, runs) for scale in study.scales()},
    }


def _steps(study: Study, scale: str, runs: Path) -> int:
    record = study_directory(runs, study.name, scale).record()
    return 0 if record is None else len(record.steps)


def plan_lines(plan: StudyPlan) -> list[str]:
    study, running = plan.study, plan.running_cells()
    least, most = plan.seconds()
    data, evidence = plan.disk_bytes()
    budget = study.scale(plan.scale).budget
    lines = [click.style(f"{study.name}, scale {plan.scale}", bold=True), study.fields.title, ""]
    elsewhere = plan.only_at_another_scale()
    lines += aligned(
        [["experiment", "cell", "broker", "nodes", "durability", "runs"], *_cell_rows(plan, running, elsewhere)]
    )
    if elsewhere:
        lines.append(f"and {len(elsewhere)} cells that figures of another scale draw")
    looks = ", ".join(map(str, plan.looks))
    calibrates = plan.calibrates()
    lines += ["", *([f"first:  {calibrates} is run alone, to calibrate rates"] if calibrates else [])]
    lines.append(f"looks:  at {looks} repeats; cells whose claims are clear stop first")
    at_most = f", at most {duration_text(most)} where no claim is clear before the last look" if most > least else ""
    within = f"; no further look begins after {duration_text(budget)}" if budget is not None else ""
    lines.append(f"time:   about {duration_text(least)}{at_most}{within}")
    held = "an amount that is not known before (closed loop)" if data is None else f"up to {bytes_text(data)}"
    lines.append(f"disk:   {held} of broker data at a time, about {bytes_text(evidence)} of evidence kept")
    cannot = plan.cannot_answer()
    lines.append(f"claims: {len(plan.wanted) - len(cannot)} of {len(plan.wanted)} can be answered here")
    for claim, why in cannot.items():
        lines.append(f"  {click.style('not runnable here', fg=COLORS['not runnable here'])} {claim}: {why}")
    return lines


def total_line(plans: Sequence[StudyPlan]) -> str:
    """Of several studies together."""
    least, most = (sum(seconds) for seconds in zip(*(plan.seconds() for plan in plans), strict=True))
    asked = sum(len(plan.wanted) for plan in plans)
    can = asked - sum(len(plan.cannot_answer()) for plan in plans)
    longest = f", at most {duration_text(most)}" if most > least else ""
    return f"{len(plans)} studies: about {duration_text(least)}{longest}; {can} of {asked} claims can be answered here"


def _cell_rows(plan: StudyPlan, running: Sequence[str], elsewhere: Collection[str]) -> list[list[str]]:
    rows = []
    for name, cell in plan.cells.items():
        if name in elsewhere:
            continue
        planned = cell.plan.cells[0] if cell.plan is not None else None
        runs = "yes" if name in running else f"no: {plan.absent[name]}" if name in plan.absent else "no"
        rows.append(
            [
                cell.cell.experiment, name, planned.broker if planned else "", str(planned.nodes) if planned else "",
                str(planned.durability) if planned else "", runs,
            ]
        )  # fmt: skip
    return rows


def plan_document(plan: StudyPlan) -> dict[str, Any]:
    least, most = plan.seconds()
    data, evidence = plan.disk_bytes()
    running = plan.running_cells()
    return {
        "study": plan.study.name,
        "scale": plan.scale,
        "looks": list(plan.looks),
        "calibrates": plan.calibrates(),
        "seconds": {"least": least, "most": most, "budget": plan.study.scale(plan.scale).budget},
        "broker_data_bytes": data,
        "evidence_bytes": evidence,
        "cells": [
            {
                "cell": name,
                "experiment": cell.cell.experiment,
                "runs": name in running,
                "why_not": plan.absent.get(name),
            }
            for name, cell in plan.cells.items()
        ],
        "claims": [{"claim": c.id, "why_not": plan.cannot_answer().get(c.id)} for c in plan.wanted],
    }


def answer_lines(answer: StudyAnswer) -> list[str]:
    counts = answer.counts()
    said = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts.get(v))
    lines = [click.style(f"{answer.study.name}, scale {answer.scale}: {said}", bold=True), answer.study.fields.title]
    width = terminal_width() or 100
    ours = answer.study.ours()
    for row in answer.tables.claims:
        word = click.style(row["verdict"], fg=COLORS[row["verdict"]], bold=True)
        added = " (added here)" if row["claim"] in ours else ""
        lines += ["", f"{word}  {row['claim']}{added}: {row['says']}"]
        unit = unit_of_claim(row, answer.tables.parts)
        measured = f"measured {value_text(row, unit)}" if row["value"] is not None else "not measured"
        found = [measured, f"holds {range_text(row['holds'], unit)}"]
        if published_text(row, unit):
            found.append(f"published {published_text(row, unit)}")
        lines += textwrap.wrap("; ".join(found), width, initial_indent="  ", subsequent_indent="  ")
        lines += textwrap.wrap(row["reason"], width, initial_indent="  ", subsequent_indent="  ")
    lines += ["", *(f"run:  {run.path}" for run in answer.runs)]
    if answer.directory.report_file.exists():
        lines.append(f"page: {answer.directory.report_file}")
    elif not answer.runs:
        lines.append(f"not run yet: brokerlab study run {answer.study.called} --scale {answer.scale}")
    return lines


def value_text(row: dict[str, Any], unit: str = "") -> str:
    """1.36 (1.2 to 1.5, n = 4)."""
    interval = "" if row["low"] is None else f"{quantity(row['low'], unit)} to {quantity(row['high'], unit)}, "
    return f"{quantity(row['value'], unit)} ({interval}n = {row['n']})"


def published_text(row: dict[str, Any], unit: str = "") -> str:
    """1.36 (1.32 to 1.36; section IV.D)."""
    value, where = published(row, unit), row["published_where"]
    if value.endswith(")") and row["published_low"] is not None and where:
        return f"{value[:-1]}; {where})"
    return f"{value} ({where})" if value and where else value or where


def answer_document(answer: StudyAnswer) -> dict[str, Any]:
    return {
        "study": answer.study.name,
        "title": answer.study.fields.title,
        "scale": answer.scale,
        "counts": {v: answer.counts().get(v, 0) for v in VERDICTS},
        "claims": [
            {k: v for k, v in row.items() if k not in ("study", "scale", "number")}
            | {"ours": row["claim"] in answer.study.ours()}
            | {"cells": row["cells"].split(","), "runs": [r for r in row["runs"].split(",") if r]}
            | {"parts": [_part(p) for p in answer.tables.parts if p["claim"] == row["claim"]]}
            for row in answer.tables.claims
        ],
        "points": len(answer.tables.points),
        "page": str(answer.directory.report_file) if answer.directory.report_file.exists() else None,
    }


def _part(row: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in row.items() if k not in ("study", "scale", "claim")}
