"""What the page of a study is made of, from its answer."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from brokerlab.judge.claims import error_level
from brokerlab.model.metrics import METRICS
from brokerlab.model.quantities import format_bytes, format_duration_ns, format_duration_s
from brokerlab.report.study_page import FigureText, RunLink, StudySource

if TYPE_CHECKING:
    from brokerlab.model.environment import Ceilings
    from brokerlab.studies.answer import StudyAnswer

_UNIT_WORDS = {"1/s": "second", "B": "bytes"}  # as axes say them


def page_source(answer: StudyAnswer, page: Path) -> StudySource:
    """Links lead from where `page` lies."""
    study = answer.study
    figures = {}
    for number, figure, _ in study.figures():
        if figure.scale not in (None, answer.scale) and not figure.always_shown:
            continue
        unit = METRICS[figure.metric].unit if figure.unit is None else figure.unit
        y = figure.y or METRICS[figure.metric].words
        figures[number] = FigureText(figure.title, figure.x, axis_text(y, unit), unit, figure.along)
    return StudySource(
        name=study.name,
        title=study.fields.title,
        source=study.fields.source,
        scale=answer.scale,
        differs=study.fields.differs,
        claims=answer.tables.claims,
        parts=answer.tables.parts,
        points=[p for p in answer.tables.points if p["figure"] in figures],
        figures=figures,
        runs=_links(answer, page),
        method=_method(answer),
        contradicts_itself=study.fields.contradicts_itself,
        ours=study.ours(),
    )


def axis_text(words: str, unit: str) -> str:
    """What an axis shows, with its unit where the words do not say it: `bytes sent, MB/s`, `messages a second`."""
    said = re.split(r"[ ,]+", words)
    if unit in ("", "1") or unit in said or _UNIT_WORDS.get(unit) in said:
        return words
    return f"{words}, {unit}"


def _links(answer: StudyAnswer, page: Path) -> list[RunLink]:
    experiments = {s.run: s.experiment for s in answer.record.steps} if answer.record is not None else {}
    found = []
    for run in answer.runs:
        verdict = run.verdict()
        there = run.report_file.exists()
        href = Path(os.path.relpath(run.report_file, page.parent)).as_posix() if there else None
        found.append(
            RunLink(
                run.name,
                experiments.get(run.name, ""),
                verdict.verdict if verdict else "",
                verdict.headline if verdict else "",
                href,
            )
        )
    return found


def _method(answer: StudyAnswer) -> list[tuple[str, str]]:
    scale = answer.study.scale(answer.scale)
    looks = answer.plan.looks
    said = ", ".join(map(str, looks))
    level = error_level(len(looks))
    repeats = (
        f"{_order(scale.cluster)} Claims are looked at after {said} repeats; cells whose claims are clear "
        f"stop first. The intervals of each look hold with {100 * (1 - level):.1f} %, all looks together with 96 %."
    )
    facts = [("repeats", repeats), ("clusters", _clusters(scale.cluster))]
    if scale.phases.measure is not None:
        facts.append(("phases", f"measure {format_duration_s(scale.phases.measure)} in every execution"))
    if answer.runs:
        host = answer.runs[0].environment().host
        memory = f", {format_bytes(host.memory_bytes)} of memory" if host.memory_bytes else ""
        facts.append(("machine", f"{host.cpu_count} processors ({host.cpu_model}){memory}, {host.system}"))
        ceilings = [c for run in answer.runs if (c := run.environment().ceilings) is not None]
        if ceilings:
            facts.append(("ceilings", ceilings_text(ceilings)))
        states = [e for run in answer.runs for e in run.state().executions.values() if e.started_unix_s]
        began = min((e.started_unix_s for e in states if e.started_unix_s is not None), default=None)
        if began is not None:
            facts.append(("date", f"{datetime.fromtimestamp(began, UTC):%Y-%m-%d %H:%M} UTC"))
        took = sum(e.ended_unix_s - e.started_unix_s for e in states if e.ended_unix_s and e.started_unix_s)
        facts.append(("measuring", f"{len(states)} executions, {format_duration_s(round(took))}"))
    return facts


def ceilings_text(found: Sequence[Ceilings]) -> str:
    """What the disk, an fsync and the loopback could do at most, as the runs measured it before they began."""

    def span(values: Iterable[float], text: Callable[[float], str]) -> str:
        told = [*map(text, sorted(values))]
        least, most = told[0], told[-1]
        return least if least == most else f"{least} to {most}"

    def megabytes(bytes_per_s: float) -> str:
        return f"{bytes_per_s / 1e6:,.0f} MB/s"  # as the figures that they are read against

    disk = span((c.disk_write_bytes_per_s for c in found), megabytes)
    half = span((c.fsync_p50_ns for c in found), format_duration_ns)
    slow = span((c.fsync_p99_ns for c in found), format_duration_ns)
    loopback = span((c.loopback_bytes_per_s for c in found), megabytes)
    when = "before the run" if len(found) == 1 else f"before each of {len(found)} runs"
    return f"Disk {disk} with an fsync every 8 MiB; fsync of 4 KiB {half} (p50), {slow} (p99); loopback {loopback}. Measured {when}."


def _order(kind: str) -> str:
    if kind == "one_by_one":
        return "Cells that share a cluster run interleaved, all repeats before the next cluster is started."
    return "Cells of an experiment run interleaved."


def _clusters(kind: str) -> str:
    if kind != "fresh":
        return "One cluster serves executions with equal server settings: they do not all start from the same state."
    return "Every execution has a fresh cluster."
