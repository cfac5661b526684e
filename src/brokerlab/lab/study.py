"""Studies: which there are, what they would do here, their runs, verdicts and pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brokerlab.home import runs_directory
from brokerlab.lab.programs import spark_session
from brokerlab.model.listener import SILENT, RunListener

if TYPE_CHECKING:
    from brokerlab.studies.answer import Place, StudiesAnswer, StudyAnswer
    from brokerlab.studies.load import Study
    from brokerlab.studies.planning import StudyPlan


def studies(wanted: str = "all") -> list[Study]:
    """The shipped studies, or the one that a name or a folder means. WorkloadError with every problem of its files."""
    from brokerlab.studies.finding import find_studies

    return find_studies(wanted)


def plan_study(
    study: Study, runs: Path | None = None, *, scale: str = "quick", only: Collection[str] = ()
) -> StudyPlan:
    """What running a study would do here, and which claims this machine cannot answer; starts nothing."""
    from brokerlab.studies.answer import planned

    return planned(study, scale, _place(runs, None, SILENT), only)


def run_study(
    study: Study,
    runs: Path | None = None,
    *,
    scale: str = "quick",
    only: Collection[str] = (),
    lake: str | None = None,
    listener: RunListener = SILENT,
    fresh: bool = False,
) -> StudyAnswer:
    """Measure what the claims of a study still need, judge them and write its page.

    The same call goes on where one was cut off, unless `fresh`: runs of the study that have ended are kept.
    """
    from brokerlab.studies.answer import run as run_whole

    return run_whole(study, scale, _place(runs, lake, listener), only=only, fresh=fresh)


def run_studies(
    studies: Sequence[Study],
    runs: Path | None = None,
    *,
    scale: str = "quick",
    lake: str | None = None,
    listener: RunListener = SILENT,
    fresh: bool = False,
) -> StudiesAnswer:
    """The same for several studies, one after the other, with one page of all (runs/studies/all-<scale>.html).

    An error of one study is noted and kept in the answer, and the next one is run; an interruption ends all.
    """
    from brokerlab.studies.answer import run_several

    return run_several(studies, scale, _place(runs, lake, listener), fresh=fresh)


def study_answer(
    study: Study,
    runs: Path | None = None,
    *,
    scale: str = "quick",
    lake: str | None = None,
    listener: RunListener = SILENT,
) -> StudyAnswer:
    """The verdicts on a study's claims as its runs stand; every claim has one, run or not."""
    from brokerlab.studies.answer import answer

    return answer(study, scale, _place(runs, lake, listener))


def report_study(answers: Sequence[StudyAnswer], file: Path | None = None) -> Path:
    """Write the page of a study, or one page of several to `file`; returns its path."""
    from brokerlab.studies.answer import write_page

    return write_page(list(answers), file)


def _place(runs: Path | None, lake: str | None, listener: RunListener) -> Place:
    from brokerlab.lake.location import default_address
    from brokerlab.studies.answer import Place

    root = runs or runs_directory()
    return Place(root, lake or default_address(root), lambda: spark_session(listener), listener)
