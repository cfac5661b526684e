"""What can be asked of a study: its plan, its run, its claims, its page. lab passes these on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brokerlab.errors import BrokerlabError, ExitCode, InterruptedRunError
from brokerlab.model.listener import SILENT, RunListener
from brokerlab.results.directory import RunDirectory
from brokerlab.studies.load import Study
from brokerlab.studies.looks import calibrated_per_s
from brokerlab.studies.planning import StudyPlan, plan_study, this_machine
from brokerlab.studies.record import StudyDirectory, StudyRecord, page_of_all, run_of, study_directory
from brokerlab.studies.running import RunningStudy, calibration, ended_runs, question
from brokerlab.studies.tables import StudyTables, inputs, kept_tables, lake_for, make_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerlab.judge.claim_rows import StudyQuestion
    from brokerlab.lake.reading import Lake
    from brokerlab.model.plan import RunPlan
    from brokerlab.workload.estimate import Estimate


@dataclass(frozen=True)
class Place:
    """Where runs and the lake are, how Spark is started, and who listens."""

    runs: Path
    lake: str
    session: Callable[[], AbstractContextManager[SparkSession]]
    listener: RunListener = SILENT


@dataclass(frozen=True)
class StudyAnswer:
    """What is known of a study at a scale now. `runs` are the runs behind it; none where it has not been run."""

    study: Study
    scale: str
    plan: StudyPlan
    directory: StudyDirectory
    record: StudyRecord | None
    tables: StudyTables
    runs: tuple[RunDirectory, ...]

    def counts(self) -> dict[str, int]:
        """How many claims have each verdict."""
        found: dict[str, int] = {}
        for row in self.tables.claims:
            found[row["verdict"]] = found.get(row["verdict"], 0) + 1
        return found


@dataclass(frozen=True)
class StudiesAnswer:
    """What running several studies gave. `errors` are those of studies that could not be run to their end, by name; their
    claims stand as their earlier runs leave them. `page` shows all of `answers`."""

    answers: tuple[StudyAnswer, ...]
    errors: Mapping[str, BrokerlabError]
    page: Path | None

    @property
    def exit_code(self) -> ExitCode:
        """That of the first error."""
        return next((error.exit_code for error in self.errors.values()), ExitCode.OK)


@dataclass(frozen=True)
class _Lab:
    """brokerlab.lab, as running a study needs it."""

    place: Place

    def plan(self, workload: Path, overrides: list[str]) -> RunPlan:
        from brokerlab import lab

        return lab.plan(workload, overrides=overrides)

    def estimate(self, plan: RunPlan) -> Estimate:
        from brokerlab import lab

        return lab.estimate(plan)

    def install(self, broker: str) -> None:
        from brokerlab import lab
        from brokerlab.brokers.registry import broker_named

        if not broker_named(broker).installation().installed:
            lab.install(broker, listener=self.place.listener)

    def run(self, plan: RunPlan) -> RunDirectory:
        from brokerlab import lab

        return lab.run(plan, self.place.runs, listener=self.place.listener).run

    def analyze(self, run: RunDirectory) -> None:
        from brokerlab import lab

        lab.analyze(run, listener=self.place.listener)


def planned(study: Study, scale: str, place: Place, only: Collection[str] = ()) -> StudyPlan:
    """What running the study would do here; starts nothing."""
    return _planned(study, scale, place, study_directory(place.runs, study.name, scale).record(), only)


def run(study: Study, scale: str, place: Place, *, only: Collection[str] = (), fresh: bool = False) -> StudyAnswer:
    """Measure what the claims still need, judge them and write the page. The same call goes on where one was cut off."""
    try:
        RunningStudy(study, scale, place.runs, _Lab(place), place.listener, only).run(fresh=fresh)
        found = answer(study, scale, place)
        write_page([found])
    except KeyboardInterrupt:  # while claims were judged; a run says so itself
        raise InterruptedRunError.saved_in(place.runs) from None
    return found


def run_several(studies: Sequence[Study], scale: str, place: Place, *, fresh: bool = False) -> StudiesAnswer:
    """Run one study after the other and write a page of all. An error of one is noted, and the next one is run; only an
    interruption ends it."""
    answers: list[StudyAnswer] = []
    errors: dict[str, BrokerlabError] = {}
    for study in studies:
        place.listener.note(f"study {study.name}, scale {scale}")
        try:
            answers.append(run(study, scale, place, fresh=fresh))
        except InterruptedRunError:
            raise
        except BrokerlabError as error:
            errors[study.name] = error
            place.listener.note(f"study {study.name} could not be run to its end: {error.message}")
            answers += _as_it_stands(study, scale, place)
    page = write_page(answers, page_of_all(place.runs, scale)) if answers else None
    return StudiesAnswer(tuple(answers), errors, page)


def _as_it_stands(study: Study, scale: str, place: Place) -> list[StudyAnswer]:
    """What is known of a study that could not be run; nothing where not even that can be found out."""
    try:
        return [answer(study, scale, place)]
    except InterruptedRunError:
        raise
    except BrokerlabError:
        return []  # most often what stopped it, which has been told


def answer(study: Study, scale: str, place: Place) -> StudyAnswer:
    """The claims as they stand. They are judged again, in Spark, where anything they depend on has changed."""
    from brokerlab import lab

    directory = study_directory(place.runs, study.name, scale)
    record = directory.record()
    plan = _planned(study, scale, place, record)
    asked = question(plan, record, place.runs)
    behind = tuple(r for r in ended_runs(record, place.runs) if r.name in asked.runs) if record is not None else ()
    tables = kept_tables(directory, inputs(study, asked))
    if tables is None:

        def lake() -> Lake:
            return lake_for(place.lake, [r.path for r in behind], lab.add_to_lake)

        with judging(place, asked) as session:
            tables = make_tables(study, asked, directory, lake, session)
    return StudyAnswer(study, scale, plan, directory, record, tables, behind)


@contextmanager
def judging(place: Place, asked: StudyQuestion) -> Iterator[Callable[[], AbstractContextManager[SparkSession]]]:
    """One Spark session for adding the runs and judging them; none where there are no runs."""
    if not asked.members:
        yield place.session
        return
    place.listener.stage("judging the claims with Spark")
    with place.session():  # the ones within are the same
        yield place.session


def write_page(answers: list[StudyAnswer], file: Path | None = None) -> Path:
    """One page for one study, beside its tables, or for several, in `file`. Returns its path."""
    from brokerlab.report.study_page import write_study_page
    from brokerlab.studies.page import page_source

    target = file or answers[0].directory.report_file
    return write_study_page(target, [page_source(a, target) for a in answers])


def _planned(
    study: Study, scale: str, place: Place, record: StudyRecord | None, only: Collection[str] = ()
) -> StudyPlan:
    helper = _Lab(place)

    def plan(calibrated: float | None) -> StudyPlan:
        return plan_study(
            study, scale, this_machine(place.runs), helper.plan, helper.estimate,
            only=only,
            not_installed={} if record is None else record.not_installed,
            calibrated_per_s=calibrated,
        )  # fmt: skip

    first = plan(None)
    step = calibration(first, record)
    run = None if step is None else run_of(place.runs, step)
    if run is None or study.fields.calibrate is None or not run.verdict_file.exists():
        return first
    return plan(calibrated_per_s(run, study.fields.calibrate.metric))
