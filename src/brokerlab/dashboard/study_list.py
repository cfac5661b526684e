"""Studies as their pages show them, from what their runs gave already: Spark is never started in the server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from brokerlab import lab
from brokerlab.dashboard.site import site
from brokerlab.errors import MachineError, NotFoundError
from brokerlab.report.study_page import render
from brokerlab.studies.answer import Place, StudyAnswer, planned
from brokerlab.studies.finding import names
from brokerlab.studies.load import Study
from brokerlab.studies.page import page_source
from brokerlab.studies.record import study_directory
from brokerlab.studies.running import ended_runs, question
from brokerlab.studies.tables import inputs, kept_tables, make_tables


class NotJudgedError(MachineError):
    """Runs of a study have changed since its claims were judged."""


def study_rows(runs: Path) -> list[dict[str, Any]]:
    """The shipped studies and, for each scale, how many runs there are."""
    return [
        {
            "name": study.name,
            "title": study.fields.title,
            "source": study.fields.source,
            "claims": [{"claim": c.id, "says": c.says} for c in study.claims],
            "scales": {scale: _steps(study, scale, runs) for scale in study.scales()},
        }
        for study in lab.studies()
    ]


def study_counts(name: str, scale: str, runs: Path) -> dict[str, Any]:
    """How many claims have each verdict now."""
    found = _answer(name, scale, runs)
    return {"study": name, "scale": scale, "counts": found.counts(), "runs": [run.name for run in found.runs]}


def study_html(name: str, scale: str, runs: Path) -> str:
    """The study's page, with links to the pages of its runs."""
    found = _answer(name, scale, runs)
    source = page_source(found, found.directory.report_file)
    links = [replace(link, href=f"/runs/{link.run}" if link.href else None) for link in source.runs]
    return render([replace(source, runs=links)], site("/studies"))


def known(name: str, scale: str) -> Study:
    """A shipped study by name. A folder that a request names is not ours to open: NotFoundError."""
    if name not in names():
        raise NotFoundError(f"no shipped study is called {name!r}", hint=f"shipped: {', '.join(names())}")
    (study,) = lab.studies(name)
    if scale not in study.scales():
        raise NotFoundError(f"{name} has no scale {scale!r}", hint=f"it has {', '.join(study.scales())}")
    return study


def _answer(name: str, scale: str, runs: Path) -> StudyAnswer:
    """As studies.answer gives it, and nothing is written: a page that is only opened changes nothing."""
    study, directory = known(name, scale), study_directory(runs, name, scale)
    record = directory.record()
    plan = planned(study, scale, Place(runs, "", _no_spark))
    asked = question(plan, record, runs)
    tables = kept_tables(directory, inputs(study, asked))
    if tables is None:
        if asked.members:
            _no_spark()
        with TemporaryDirectory(prefix="brokerlab-study-") as aside:
            tables = make_tables(study, asked, study_directory(Path(aside), name, scale), _no_spark, _no_spark)
    behind = () if record is None else (run for run in ended_runs(record, runs) if run.name in asked.runs)
    return StudyAnswer(study, scale, plan, directory, record, tables, tuple(behind))


def _no_spark() -> NoReturn:
    raise NotJudgedError(
        "the claims have not been judged since runs of this study were added or changed",
        hint="judge them here, or with: brokerlab study show",
    )


def _steps(study: Study, scale: str, runs: Path) -> int:
    record = study_directory(runs, study.name, scale).record()
    return 0 if record is None else len(record.steps)
