"""From a question to an answer: plan, prepare, measure, analyze, report. The command line, studies and notebooks call this.

    from brokerlab import lab

    plan = lab.plan("steady", brokers=["all"], repeats=4)
    print(lab.estimate(plan).seconds)
    answer = lab.run(plan)
    print(answer.verdict.headline, answer.report)

Every function that takes a while accepts a listener (model.listener.RunListener) and reports to it; the default ignores
everything. Errors are those of errors.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brokerlab.brokers import registry
from brokerlab.errors import BrokerlabError, UserError
from brokerlab.home import runs_directory
from brokerlab.model.listener import RunListener, SilentListener
from brokerlab.results.directory import RunDirectory, usable_runs_directory
from brokerlab.results.directory import find_run as _find_run
from brokerlab.secrets import resolvable
from brokerlab.workload.estimate import Estimate, estimate

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from brokerlab.brokers.contract import Broker, Installation
    from brokerlab.install.java import Java
    from brokerlab.judge.compared import Compared
    from brokerlab.judge.history import History
    from brokerlab.lake.ingest import Added
    from brokerlab.lake.store import Store
    from brokerlab.model.plan import CellPlan, Endpoint, RunPlan
    from brokerlab.pipeline.profiles import SparkSettings
    from brokerlab.results.analyzed import AnalyzedRun
    from brokerlab.results.compare.measured import Source
    from brokerlab.results.verdict import Verdict
    from brokerlab.studies.answer import Place, StudyAnswer
    from brokerlab.studies.load import Study
    from brokerlab.studies.planning import StudyPlan

__all__ = [
    "Answer",
    "Estimate",
    "PlannedSettings",
    "add_to_lake",
    "analyze",
    "analyzed_runs",
    "brokers",
    "compare",
    "estimate",
    "find_run",
    "history",
    "install",
    "keep_in_lake",
    "lake_store",
    "measure",
    "plan",
    "plan_study",
    "planned_settings",
    "prepare",
    "query_lake",
    "remarks",
    "report",
    "report_study",
    "run",
    "run_study",
    "spark_settings",
    "studies",
    "study_answer",
    "workloads",
]

SILENT = SilentListener()


@dataclass(frozen=True)
class Answer:
    """A run that has been analyzed: where it is, what may be believed, and the page that shows it."""

    run: RunDirectory
    verdict: Verdict
    report: Path

    def summary(self) -> list[dict[str, Any]]:
        """Rows of the table run_summary: median and interval of every metric of every cell."""
        from brokerlab.results.reader import read_rows
        from brokerlab.results.tables import RUN_SUMMARY

        return read_rows(self.run, RUN_SUMMARY)

    def comparison(self) -> list[dict[str, Any]]:
        """Rows of the table comparison: what may be said of the difference of every two cells in every metric."""
        from brokerlab.results.reader import read_rows
        from brokerlab.results.tables import COMPARISON

        return read_rows(self.run, COMPARISON)


@dataclass(frozen=True)
class PlannedSettings:
    """What a cell would use, as far as it is known before any broker has started."""

    broker: str  # product and version, or product and address
    durability: str
    durability_because: dict[str, str]
    acknowledgement: str  # what an acknowledgement promises
    security: str | None
    faults: list[str]
    cluster: str  # fresh or kept, and what processes get of the machine
    driver: str
    native_library: str
    broker_settings: dict[str, str]
    client_settings: dict[str, str]


def plan(
    source: Path | str,
    *,
    overrides: Sequence[str] = (),
    brokers: Sequence[str] | None = None,
    repeats: int | None = None,
    tag: str | None = None,
    endpoints: Mapping[str, Endpoint] | None = None,
) -> RunPlan:
    """The checked plan of a workload; starts nothing.

    `source` is a file or the name of a shipped workload, `overrides` are `path=value`, `brokers` replaces the
    workload's (`["all"]`: every one that runs here and can do it), `endpoints` are brokers that the user runs, by name.
    Raises WorkloadError with every problem found.
    """
    from brokerlab.workload.load import plan_workload

    try:
        return plan_workload(
            source,
            overrides=overrides,
            brokers=brokers,
            repeats=repeats,
            tag=tag,
            endpoints=endpoints or {},
            broker_named=registry.broker_named,
            known_brokers=tuple(registry.BROKERS),
        )
    except UnicodeDecodeError:
        hint = "a workload is YAML in UTF-8: brokerlab init writes one"
        raise UserError(f"{source} is not a text file", hint=hint) from None
    except PermissionError as e:
        raise UserError(f"{e.filename} cannot be read: permission denied", hint="check its permissions") from None


def remarks(plan: RunPlan) -> list[str]:
    """What to know before the plan runs: brokers that were left out, passwords that are sent unencrypted."""
    left_out = [f"left out: {one.broker}: {one.reason}" for one in plan.left_out]
    secured = [(cell.broker, cell.security) for cell in plan.cells if cell.security is not None]
    readable = ", ".join(dict.fromkeys(name for name, s in secured if s.password is not None and not s.tls))
    return [*left_out, *([f"{readable}: a password without TLS crosses the wire readable"] if readable else [])]


def planned_settings(cell: CellPlan) -> PlannedSettings:
    """Product, durability and its reasons, security, driver and settings of one cell of a plan."""
    from brokerlab import native
    from brokerlab.brokers.contract import PlansDurability

    broker = registry.broker_named(cell.broker)
    here = f"{broker.product} {broker.installation().version or broker.version}"
    why_not = native.why_not()
    return PlannedSettings(
        broker=f"{broker.product} at {','.join(cell.endpoint)}" if cell.endpoint else here,
        durability=str(cell.durability),
        durability_because=dict(broker.planned_durability(cell).because if isinstance(broker, PlansDurability) else {}),
        acknowledgement=broker.capabilities.acknowledgement,
        security=None if cell.security is None else cell.security.description(),
        faults=[f"{f.kind} {f.target} {f.at_s:g} s into measure" for f in cell.faults],
        cluster=", ".join(filter(None, ["kept" if cell.cluster_key() else "fresh", cell.machine.words()])),
        driver=cell.driver,
        native_library="available" if not why_not else f"not available: {why_not}",
        broker_settings=dict(cell.broker_settings),
        client_settings=dict(cell.client_settings),
    )


def run(
    plan: RunPlan,
    runs: Path | None = None,
    *,
    listener: RunListener = SILENT,
    fresh: bool = False,
    lake: str | Path | None = None,
) -> Answer:
    """Measure the plan, analyze the run and write its report.

    `runs` is the directory that holds runs (default: BROKERLAB_RUNS, else ./runs). An unfinished run of the same plan
    is resumed, unless `fresh`: executions that have ended are kept. `lake` is where the run is added when it is done.
    """
    return analyze(measure(plan, runs, listener=listener, fresh=fresh), listener=listener, lake=lake)


def measure(
    plan: RunPlan, runs: Path | None = None, *, listener: RunListener = SILENT, fresh: bool = False
) -> RunDirectory:
    """Install what is missing and execute every cell and repeat of the plan: `run` without the analysis."""
    from brokerlab.runner import run as run_plan

    root = runs or runs_directory()
    # Before anything is made or fetched:
    resolvable(cell.security.password for cell in plan.cells if cell.security is not None)
    usable_runs_directory(root)
    for text in remarks(plan):
        listener.note(text)
    java = prepare(plan, listener=listener)
    return run_plan(plan, root, say=listener, fresh=fresh, java=java.version)


def prepare(plan: RunPlan, *, listener: RunListener = SILENT) -> Java:
    """Install the plan's brokers (except those the user runs) and a Java for the analysis, and make the data files that are
    generated; returns the Java.

    Secrets are looked up first: a missing one must not cost a download.
    """
    from brokerlab.secrets import resolvable

    resolvable(cell.security.password for cell in plan.cells if cell.security is not None)
    for name in dict.fromkeys(cell.broker for cell in plan.cells if not cell.endpoint):
        if not registry.broker_named(name).installation().installed:
            install(name, listener=listener)
    _make_data_files(plan, listener)
    return _java(listener)


def _make_data_files(plan: RunPlan, listener: RunListener) -> None:
    from brokerlab.workload.sensors import make_sensor_file

    payloads = (cell.producers.payload for cell in plan.cells)
    for path, lines in dict.fromkeys((p.path, p.sensor_lines) for p in payloads if p.path and p.sensor_lines):
        listener.stage(f"making {lines:,} recordings of sensors")
        make_sensor_file(Path(path), lines)


def analyze(
    run: RunDirectory,
    *,
    listener: RunListener = SILENT,
    lake: str | Path | None = None,
    spark: SparkSettings | None = None,
) -> Answer:
    """Make tables, verdict and report of a run from its evidence. Works on a run that was cut off, too.

    `lake` is where the run is added afterwards, if it is not cut off. `spark` is from `spark_settings`.
    """
    from brokerlab.install.java import java_home_for_spark
    from brokerlab.lake.location import is_local
    from brokerlab.pipeline.analyze import analyze as evidence_to_verdict

    java_home = java_home_for_spark(_java(listener))
    with ExitStack() as stack:
        if lake is not None and not is_local(lake):
            stack.enter_context(_spark(listener, spark))  # one session for both
        listener.stage("analyzing with Spark")
        verdict = evidence_to_verdict(run.path, java_home=java_home, spark=spark)
        listener.stage("writing the report")
        answer = Answer(run, verdict, report(run))
        if lake is not None:
            keep_in_lake(run, lake, listener=listener, spark=spark)
    return answer


def spark_settings(profile: str | None = None, master: str | None = None, conf: Sequence[str] = ()) -> SparkSettings:
    """Where Spark runs, checked: a profile (`local`, `cluster`), a master and settings as KEY=VALUE; what is not given
    comes from the environment. UserError for what may not be set."""
    from brokerlab.pipeline.profiles import spark_settings as checked

    return checked(profile, master, conf)


def report(run: RunDirectory) -> Path:
    """Write the HTML report of a run from its tables; returns its path. UserError while it has not been analyzed."""
    from brokerlab.report.page import write_report

    if not run.verdict_file.exists():
        raise UserError(f"{run.name} has not been analyzed", hint=f"brokerlab analyze {run.name}")
    return write_report(run)


def compare(
    base: str,
    candidates: Sequence[str],
    runs: Path | None = None,
    *,
    metrics: Sequence[str] | None = None,
    allow_unlike: bool = False,
    page: Path | None = None,
    lake: str | Path | None = None,
) -> Compared:
    """Is each candidate better or worse than the base? Names are runs, tags, or cells of a run (RUN:CELL).

    `metrics` are keys of model.metrics.METRICS; without them, the chief ones. `page` is where an HTML page is written. Runs are
    read from the lake at `lake` where one is given, else from the directory `runs`.
    """
    from brokerlab.judge.compared import DEFAULT_METRICS
    from brokerlab.judge.compared import compare as compare_sides
    from brokerlab.results.compare.sides import different, side

    source = _measured_runs(runs, lake)
    sides = [side(source, name) for name in (base, *candidates)]
    different(sides)
    found = compare_sides(sides[0], sides[1:], metrics=metrics or DEFAULT_METRICS, allow_unlike=allow_unlike)
    if page is not None:
        from brokerlab.report.compare_page import write_page

        write_page(page, found, sides, source)
    return found


def history(
    metrics: Sequence[str] | None = None,
    runs: Path | None = None,
    *,
    where: Mapping[str, Sequence[str]] | None = None,
    lake: str | Path | None = None,
    page: Path | None = None,
) -> History:
    """How did these metrics change over time, question by question? `where` chooses cells by their facts. Runs are read from
    the lake at `lake` where one is given, else from the directory `runs`. `page` is where an HTML page is written."""
    from brokerlab.judge.history import DEFAULT_METRICS
    from brokerlab.judge.history import history as history_of

    found = history_of(_measured_runs(runs, lake).every(), metrics or DEFAULT_METRICS, where or {})
    if page is not None:
        from brokerlab.report.history_page import write_page

        write_page(page, found)
    return found


def analyzed_runs(
    name: str | None, runs: Path | None = None, *, lake: str | Path | None = None
) -> Sequence[AnalyzedRun]:
    """The run of this name, from the directory `runs` or from a lake; without a name, all runs of the lake."""
    if lake is not None:
        from brokerlab.lake import open as open_lake
        from brokerlab.lake.analyzed import LakeRuns

        found = LakeRuns(open_lake(lake))
        return found.analyzed() if name is None else [found.run(name)]
    from brokerlab.results.analyzed import DirectoryRun

    if name is None:
        raise UserError("a run must be named where there is no lake", hint="brokerlab list runs shows them all")
    run = DirectoryRun(find_run(name, runs))
    _ = run.verdict  # a run that was not analyzed has tables of no run
    return [run]


def _measured_runs(runs: Path | None, lake: str | Path | None) -> Source:
    if lake is not None:
        from brokerlab.lake import open as open_lake
        from brokerlab.lake.analyzed import LakeRuns

        return LakeRuns(open_lake(lake))
    from brokerlab.results.compare.run_directories import RunDirectories

    return RunDirectories(runs or runs_directory())


@contextmanager
def lake_store(
    address: str | Path, *, listener: RunListener = SILENT, spark: SparkSettings | None = None
) -> Iterator[Store]:
    """The files of a lake, for the length of a block: a folder as it is, any other address through Spark."""
    from brokerlab.lake.location import is_local, store_at
    from brokerlab.lake.store import problems_named

    if is_local(address):
        yield store_at(address)
        return
    with _spark(listener, spark) as session:
        store = store_at(address, session)
        with problems_named(store):
            yield store


def add_to_lake(
    address: str | Path,
    directories: Sequence[Path],
    *,
    listener: RunListener = SILENT,
    again: bool = False,
    spark: SparkSettings | None = None,
) -> Added:
    """Bring analyzed runs into a lake; those that it has as they are stay untouched, unless `again`. Runs that cannot
    be added are in the answer, each with the reason."""
    from brokerlab.lake.ingest import add

    with lake_store(address, listener=listener, spark=spark) as store:
        return add(store, directories, lambda: _spark(listener, spark), listener.stage, again=again)


def keep_in_lake(
    run: RunDirectory, address: str | Path, *, listener: RunListener = SILENT, spark: SparkSettings | None = None
) -> None:
    """Add a run that has ended to a lake, which is made where there is none. What goes wrong is a note: the run's result
    does not depend on it."""
    from brokerlab.lake.manifest import init, is_lake
    from brokerlab.results.run_state import run_state

    if run_state(run).word not in ("complete", "failed"):
        return
    listener.stage("adding the run to the lake")
    try:
        with lake_store(address, listener=listener, spark=spark) as store:
            if not is_lake(store):
                init(store)
        added = add_to_lake(address, [run.path], listener=listener, spark=spark)
        for refusal in added.refused:
            listener.note(f"not added to the lake {address}: {refusal.text}")
    except Exception as error:
        said = error.message if isinstance(error, BrokerlabError) else f"{type(error).__name__}: {error}"
        listener.note(f"not added to the lake {address}: {said.splitlines()[0]}; brokerlab lake add tries again")


def query_lake(address: str | Path, sql: str, *, spark: SparkSettings | None = None) -> pa.Table:
    """The answer to one SELECT over the tables of a lake. UserError for SQL that is wrong or does more than read."""
    from brokerlab.lake.query import query
    from brokerlab.lake.reading import Lake

    with lake_store(address, spark=spark) as store:
        return query(Lake(store), sql, lambda: _spark(SILENT, spark))


def install(broker: str, *, listener: RunListener = SILENT) -> Installation:
    """Fetch a broker into the cache, verify and unpack it. Does nothing for what is there already."""
    front = registry.broker_named(broker)
    listener.stage(f"installing {broker}")
    return front.install(lambda what, done: listener.progress(done, what))


def find_run(name: str, runs: Path | None = None) -> RunDirectory:
    """The run of this name, or of a part of it that only one run has; "last" is the newest; a path works too."""
    return _find_run(runs or runs_directory(), name)


def brokers() -> list[tuple[Broker, Installation]]:
    """Every broker there is, with what is installed of it here."""
    fronts = [registry.broker_named(name) for name in registry.BROKERS]
    return [(front, front.installation()) for front in fronts]


def workloads() -> dict[str, RunPlan]:
    """The shipped workloads by name, planned as they are."""
    from brokerlab.workload import shipped

    return {name: plan(name) for name in shipped.names()}


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
    return Place(root, lake or default_address(root), lambda: _spark(listener), listener)


def _spark(listener: RunListener, settings: SparkSettings | None = None) -> AbstractContextManager[SparkSession]:
    from brokerlab.install.java import java_home_for_spark
    from brokerlab.pipeline.session import spark_session

    java_home = java_home_for_spark(_java(listener))
    listener.stage("starting Spark")
    return spark_session(java_home, settings)


def _java(listener: RunListener) -> Java:
    from brokerlab.install.java import find_java, need_java

    found = find_java()
    if found is not None:
        return found
    listener.stage("installing a Java runtime")
    return need_java(lambda what, done: listener.progress(done, what))
