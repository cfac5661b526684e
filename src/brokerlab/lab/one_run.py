"""One question, one run: plan, prepare, measure, analyze, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brokerlab.brokers import registry
from brokerlab.errors import UserError
from brokerlab.home import runs_directory
from brokerlab.lab.many_runs import keep_in_lake
from brokerlab.lab.programs import install, java, spark_session
from brokerlab.model.listener import SILENT, RunListener
from brokerlab.results.directory import RunDirectory, usable_runs_directory
from brokerlab.results.directory import find_run as _find_run
from brokerlab.secrets import resolvable

if TYPE_CHECKING:
    from brokerlab.install.java import Java
    from brokerlab.model.plan import CellPlan, Endpoint, RunPlan
    from brokerlab.monitor.exports import Export
    from brokerlab.pipeline.profiles import SparkSettings
    from brokerlab.results.verdict import Verdict
    from brokerlab.workload.estimate import Estimate


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


def estimate(plan: RunPlan) -> Estimate:
    """How long a plan takes and how much disk it needs, roughly."""
    from brokerlab.workload import estimate as rough

    starts = {
        name: registry.broker_named(name).capabilities.start_s_per_node for name in {c.broker for c in plan.cells}
    }
    return rough.estimate(plan, {name: seconds for name, seconds in starts.items() if seconds is not None})


def remarks(plan: RunPlan) -> list[str]:
    """What to know before the plan runs: brokers that were left out, other products that run in a broker's place, passwords
    that are sent unencrypted."""
    started = [registry.broker_named(name) for name in dict.fromkeys(c.broker for c in plan.cells if not c.endpoint)]
    versions = {one.name: one.installation().version or one.version for one in started if one.stand_in}
    instead = [f"{name}: what runs here is {version}" for name, version in versions.items()]
    left_out = [f"left out: {one.broker}: {one.reason}" for one in plan.left_out]
    secured = [(cell.broker, cell.security) for cell in plan.cells if cell.security is not None]
    readable = ", ".join(dict.fromkeys(name for name, s in secured if s.password is not None and not s.tls))
    return [
        *left_out,
        *instead,
        *([f"{readable}: a password without TLS crosses the wire readable"] if readable else []),
    ]


def planned_settings(cell: CellPlan) -> PlannedSettings:
    """Product, durability and its reasons, security, driver and settings of one cell of a plan."""
    from brokerlab import native
    from brokerlab.brokers.contract import PlansDurability

    broker = registry.broker_named(cell.broker)
    version = broker.installation().version or broker.version
    here = f"{broker.product} ({version})" if broker.stand_in else f"{broker.product} {version}"
    why_not = native.why_not()
    return PlannedSettings(
        broker=f"{broker.product} at {','.join(cell.endpoint)}" if cell.endpoint else here,
        durability=str(cell.durability),
        durability_because=dict(broker.planned_durability(cell).because if isinstance(broker, PlansDurability) else {}),
        acknowledgement=broker.capabilities.acknowledgement,
        security=None if cell.security is None else cell.security.description(),
        faults=[fault.words() for fault in cell.faults],
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
    exports: tuple[Export, ...] = (),
) -> Answer:
    """Measure the plan, analyze the run and write its report.

    `runs` is the directory that holds runs (default: BROKERLAB_RUNS, else ./runs). An unfinished run of the same plan
    is resumed, unless `fresh`: executions that have ended are kept. `lake` is where the run is added when it is done;
    `exports` (monitor.exports) get readings and load while they come.
    """
    measured = measure(plan, runs, listener=listener, fresh=fresh, exports=exports)
    return analyze(measured, listener=listener, lake=lake)


def measure(
    plan: RunPlan,
    runs: Path | None = None,
    *,
    listener: RunListener = SILENT,
    fresh: bool = False,
    exports: tuple[Export, ...] = (),
) -> RunDirectory:
    """Install what is missing and execute every cell and repeat of the plan: `run` without the analysis."""
    from brokerlab.monitor.exports import check_exports
    from brokerlab.runner import run as run_plan

    root = runs or runs_directory()
    # Before anything is made or fetched:
    resolvable(cell.security.password for cell in plan.cells if cell.security is not None)
    usable_runs_directory(root)
    check_exports(exports)
    for text in remarks(plan):
        listener.note(text)
    found = prepare(plan, listener=listener)
    return run_plan(plan, root, say=listener, fresh=fresh, java=found.version, exports=exports)


def prepare(plan: RunPlan, *, listener: RunListener = SILENT) -> Java:
    """Install the plan's brokers (except those the user runs) and a Java for the analysis, and make the data files that are
    generated; returns the Java.

    Secrets are looked up first: a missing one must not cost a download.
    """
    resolvable(cell.security.password for cell in plan.cells if cell.security is not None)
    for name in dict.fromkeys(cell.broker for cell in plan.cells if not cell.endpoint):
        if not registry.broker_named(name).installation().installed:
            install(name, listener=listener)
    _make_data_files(plan, listener)
    return java(listener)


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
    """Make tables, verdict and report of a run from its evidence. Works on a run that was cut off, too; UserError while it
    is in progress, since it would be judged as one that was cut off.

    `lake` is where the run is added afterwards, if it is not cut off. `spark` is from `spark_settings`.
    """
    from brokerlab.install.java import java_home_for_spark
    from brokerlab.lake.location import is_local
    from brokerlab.pipeline.analyze import analyze as evidence_to_verdict
    from brokerlab.results.run_state import in_progress

    watched = run.plan().kind == "monitor"
    if in_progress(run):
        hint = f"brokerlab watch {run.name} shows it meanwhile"
        if not watched:
            hint += f"; brokerlab lake follow {run.name} brings what there is so far into the lake"
        raise UserError(f"{run.name} is in progress: it is analyzed when it ends", hint=hint)
    if watched:
        from brokerlab.lab.watching import analyze_watched

        return analyze_watched(run)
    java_home = java_home_for_spark(java(listener))
    with ExitStack() as stack:
        if lake is not None and not is_local(lake):
            stack.enter_context(spark_session(listener, spark))  # one session for both
        listener.stage("analyzing with Spark")
        verdict = evidence_to_verdict(run.path, java_home=java_home, spark=spark)
        listener.stage("writing the report")
        answer = Answer(run, verdict, report(run))
        if lake is not None:
            keep_in_lake(run, lake, listener=listener, spark=spark)
    return answer


def report(run: RunDirectory) -> Path:
    """Write the HTML report of a run from its tables; returns its path. UserError while it has not been analyzed."""
    from brokerlab.report.page import write_report

    if not run.verdict_file.exists():
        raise UserError(f"{run.name} has not been analyzed", hint=f"brokerlab analyze {run.name}")
    return write_report(run)


def find_run(name: str, runs: Path | None = None) -> RunDirectory:
    """The run of this name, or of a part of it that only one run has; "last" is the newest; a path works too."""
    return _find_run(runs or runs_directory(), name)


def workloads() -> dict[str, RunPlan]:
    """The shipped workloads by name, planned as they are."""
    from brokerlab.workload import shipped

    return {name: plan(name) for name in shipped.names()}
