"""Many runs: the lake, and questions to runs together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from brokerlab.errors import BrokerlabError, UserError
from brokerlab.home import runs_directory
from brokerlab.lab.programs import spark_session
from brokerlab.model.listener import SILENT, RunListener
from brokerlab.results.directory import RunDirectory, find_run

if TYPE_CHECKING:
    import pyarrow as pa

    from brokerlab.judge.compared import Compared
    from brokerlab.judge.history import History
    from brokerlab.lake.check import Checked
    from brokerlab.lake.ingest import Added
    from brokerlab.lake.status import Status
    from brokerlab.lake.store import Store
    from brokerlab.pipeline.profiles import SparkSettings
    from brokerlab.report.page import Site
    from brokerlab.results.analyzed import AnalyzedRun
    from brokerlab.results.compare.measured import Source
    from brokerlab.results.compare.sides import Side


@contextmanager
def lake_store(
    address: str | Path, *, listener: RunListener = SILENT, spark: SparkSettings | None = None
) -> Iterator[Store]:
    """The files of a lake, for the length of a block: a folder as it is, any other address through Spark. MachineError with
    the address where they cannot be reached."""
    from brokerlab.lake.location import is_local, store_at
    from brokerlab.lake.store import problems_named

    with ExitStack() as stack:
        session = None if is_local(address) else stack.enter_context(spark_session(listener, spark))
        store = store_at(address, session)
        with problems_named(store):
            yield store


def init_lake(address: str | Path, *, spark: SparkSettings | None = None) -> str:
    """Make an empty lake; returns its address. UserError where there is one already."""
    from brokerlab.lake.manifest import init

    with lake_store(address, spark=spark) as store:
        init(store)
        return store.uri


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
        return add(store, directories, lambda: spark_session(listener, spark), listener.stage, again=again)


def rebuild_lake(
    address: str | Path, runs: Path, *, listener: RunListener = SILENT, spark: SparkSettings | None = None
) -> Added:
    """Make the rows of every run of a lake again from its directory, and add those in `runs`. Runs whose directory is gone
    stay as they are."""
    from brokerlab.lake.manifest import present
    from brokerlab.lake.survey import runs_below

    with lake_store(address, listener=listener, spark=spark) as store:
        sources = [Path(entry.source) for entry in present(store).runs.values()]
    here = [path.resolve() for path in runs_below(runs)]
    chosen = dict.fromkeys([*(path for path in sources if path.is_dir()), *here])
    return add_to_lake(address, list(chosen), listener=listener, again=True, spark=spark)


def lake_status(address: str | Path, runs: Path, *, spark: SparkSettings | None = None) -> Status:
    """What a lake holds, and which of the runs in `runs` are new, changed or cannot be added."""
    from brokerlab.lake.reading import Lake
    from brokerlab.lake.status import status
    from brokerlab.lake.survey import runs_below

    with lake_store(address, spark=spark) as store:
        return status(Lake(store), runs_below(runs))


def check_lake(address: str | Path, *, spark: SparkSettings | None = None) -> Checked:
    """Every file of a lake beside its manifest, and each layer beside the next."""
    from brokerlab.lake.check import check
    from brokerlab.lake.reading import Lake

    with lake_store(address, spark=spark) as store:
        return check(Lake(store))


def follow_run(
    run: RunDirectory,
    address: str | Path,
    *,
    every_s: float = 30.0,
    once: bool = False,
    listener: RunListener = SILENT,
    spark: SparkSettings | None = None,
) -> None:
    """Keep a lake current with a run that goes on, until it has ended; or bring in `once` what there is. The lake is made
    where there is none."""
    from brokerlab.lake.follow import follow
    from brokerlab.lake.manifest import init_where_missing

    with spark_session(listener, spark) as session, lake_store(address, listener=listener, spark=spark) as store:
        init_where_missing(store)
        follow(run, store, session, every_s=every_s, once=once, say=listener.note)


def keep_in_lake(
    run: RunDirectory, address: str | Path, *, listener: RunListener = SILENT, spark: SparkSettings | None = None
) -> None:
    """Add a run that has ended to a lake, which is made where there is none. What goes wrong is a note: the run's result
    does not depend on it."""
    from brokerlab.lake.manifest import init_where_missing
    from brokerlab.results.run_state import run_state

    if run_state(run).word not in ("complete", "failed"):
        return
    listener.stage("adding the run to the lake")
    try:
        with lake_store(address, listener=listener, spark=spark) as store:
            init_where_missing(store)
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
        return query(Lake(store), sql, lambda: spark_session(SILENT, spark))


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
    with _measured_runs(runs, lake) as source:
        found, sides = _compared(source, base, candidates, metrics, allow_unlike)
        if page is not None:
            from brokerlab.report.compare_page import write_page

            write_page(page, found, sides, source)
    return found


def comparison_page(
    base: str,
    candidates: Sequence[str],
    runs: Path | None = None,
    *,
    metrics: Sequence[str] | None = None,
    allow_unlike: bool = False,
    site: Site | None = None,
) -> str:
    """The same as the text of an HTML page, which stands alone or in a site."""
    from brokerlab.report.compare_page import render
    from brokerlab.report.page import ALONE

    with _measured_runs(runs, None) as source:
        found, sides = _compared(source, base, candidates, metrics, allow_unlike)
        return render(found, sides, source, site or ALONE)


def _compared(
    source: Source, base: str, candidates: Sequence[str], metrics: Sequence[str] | None, allow_unlike: bool
) -> tuple[Compared, list[Side]]:
    from brokerlab.judge.compared import DEFAULT_METRICS
    from brokerlab.judge.compared import compare as compare_sides
    from brokerlab.results.compare.sides import different, side

    sides = [side(source, name) for name in (base, *candidates)]
    different(sides)
    found = compare_sides(sides[0], sides[1:], metrics=metrics or DEFAULT_METRICS, allow_unlike=allow_unlike)
    return found, sides


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

    with _measured_runs(runs, lake) as source:
        found = history_of(source.every(), metrics or DEFAULT_METRICS, where or {})
    if page is not None:
        from brokerlab.report.history_page import write_page

        write_page(page, found)
    return found


@contextmanager
def analyzed_runs(
    name: str | None, runs: Path | None = None, *, lake: str | Path | None = None
) -> Iterator[Sequence[AnalyzedRun]]:
    """For the length of a block: the run of this name, from the directory `runs` or from a lake; without a name, all runs of
    the lake. A lake that is no folder is read through Spark."""
    if lake is not None:
        from brokerlab.lake.analyzed import LakeRuns
        from brokerlab.lake.reading import Lake

        with lake_store(lake) as store:
            found = LakeRuns(Lake(store))
            yield found.analyzed() if name is None else [found.run(name)]
        return
    from brokerlab.results.analyzed import DirectoryRun

    if name is None:
        raise UserError("a run must be named where there is no lake", hint="brokerlab list runs shows them all")
    run = DirectoryRun(find_run(runs or runs_directory(), name))
    _ = run.verdict  # a run that was not analyzed has tables of no run
    yield [run]


@contextmanager
def _measured_runs(runs: Path | None, lake: str | Path | None) -> Iterator[Source]:
    """For the length of a block: a lake that is no folder is read through Spark."""
    if lake is not None:
        from brokerlab.lake.analyzed import LakeRuns
        from brokerlab.lake.reading import Lake

        with lake_store(lake) as store:
            yield LakeRuns(Lake(store))
        return
    from brokerlab.results.compare.run_directories import RunDirectories

    yield RunDirectories(runs or runs_directory())
