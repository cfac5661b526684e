"""Bronze and silver of many runs: every file of evidence by reference, and how many of its rows keep the rules.

The analysis of a run has written both down (evidence_file). They are taken from there as long as no file has changed
since; else Spark reads the evidence again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.errors import MeasurementError
from brokerlab.evidence.segments import Segment
from brokerlab.lake.survey import Candidate
from brokerlab.model.arrow import as_declared, schema_problem
from brokerlab.pipeline.bronze import Bronze, read_bronze
from brokerlab.pipeline.bronze import evidence_of as bronze_of
from brokerlab.pipeline.evidence_files import evidence_files, files_now
from brokerlab.pipeline.silver import REASON, judged_rows
from brokerlab.results.directory import RunDirectory
from brokerlab.results.executions import all_executions
from brokerlab.results.tables import EVIDENCE_FILE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
RowsOfFile = Mapping[Path, tuple[int, int]]  # good, set aside


def known_files(candidate: Candidate) -> list[Row] | None:
    """Rows of evidence_file as the run's analysis wrote them; None where there are none, or where a file of evidence
    is new, gone, or was written since. A run that goes on has new files all the time."""
    directory = candidate.directory
    rows = []
    for part in sorted((directory.tables / EVIDENCE_FILE.name).glob("*.parquet")):
        try:
            found = pq.read_table(part)
        except (pa.ArrowException, OSError, ValueError):
            return None
        if schema_problem(found.schema, EVIDENCE_FILE) is not None:
            return None
        rows += as_declared(found, EVIDENCE_FILE).to_pylist()
    if candidate.source is None:
        then = {row["file"]: (row["bytes"], row["modified_unix_ns"]) for row in rows}
        if then != files_now(directory.path, directory.plan()):
            return None
    return [row | {"run": candidate.run} for row in rows]


@dataclass(frozen=True)
class Evidence:
    """The evidence of one run, and the executions that its rows may name."""

    run: str
    path: Path
    bronze: Bronze
    executions: tuple[str, ...]


def evidence_of(candidate: Candidate) -> Evidence:
    """The same files that the analysis of the run reads; each is read through once."""
    plan, state = candidate.directory.plan(), candidate.directory.state()
    path = candidate.directory.path.resolve()
    executions = tuple(map(str, all_executions(plan, state)))
    return Evidence(candidate.run, path, bronze_of(RunDirectory(path)), executions)


def read_files(spark: SparkSession, candidates: Sequence[Candidate]) -> dict[str, list[Row] | MeasurementError]:
    """Rows of evidence_file by run, from the evidence itself; MeasurementError where Spark saw another number of rows
    than the files' footers say."""
    evidence = [evidence_of(c) for c in candidates]
    judged = _judged_rows(spark, evidence)
    found: dict[str, list[Row] | MeasurementError] = {}
    for one in evidence:
        try:
            found[one.run] = _file_rows(one, judged)
        except MeasurementError as wrong:
            found[one.run] = wrong
    return found


def count_rows(run: str, files: Iterable[Row]) -> list[Row]:
    """Rows of evidence_count from those of evidence_file."""
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for file in files:
        counts = found[file["table"], file["execution"]]
        if file["reason"]:
            counts["unreadable_files"] += 1
        else:
            counts.update(files=1, rows=file["rows"], set_aside=file["set_aside"])
            counts["good"] += file["rows"] - file["set_aside"]
    names = ("files", "rows", "good", "set_aside", "unreadable_files")
    return [
        {"run": run, "table": table, "execution": execution, **{name: counts[name] for name in names}}
        for (table, execution), counts in sorted(found.items())
    ]


def _judged_rows(spark: SparkSession, runs: Sequence[Evidence]) -> RowsOfFile:
    """How many rows of every readable file keep the rules, and how many do not, counted in Spark.

    Runs with the same executions are read together: the rules are then the same for them, and a query for each of a
    thousand runs would be mostly planning.
    """
    from pyspark.sql import DataFrame

    alike: dict[tuple[str, ...], list[Evidence]] = defaultdict(list)
    for one in runs:
        alike[one.executions].append(one)
    frames = [frame for executions, those in alike.items() for frame in _counts(spark, executions, those)]
    if not frames:
        return {}
    counted = reduce(DataFrame.unionByName, frames).toArrow().to_pylist()
    return {Path(unquote(urlparse(row["file"]).path)): (row["good"], row["set_aside"]) for row in counted}


def _counts(spark: SparkSession, executions: Sequence[str], runs: Iterable[Evidence]) -> list[DataFrame]:
    """One frame (file, good, set_aside) for every table that has files."""
    from pyspark.sql import functions as sf

    together: dict[str, list[Segment]] = defaultdict(list)
    tables = {table.name: table for one in runs for table in one.bronze.tables()}
    for one in runs:
        for name, of_table in one.bronze.segments.items():
            together[name] += of_table
    everything = Bronze(dict(together), ())
    frames = []
    for name, table in tables.items():
        if together[name]:
            judged = judged_rows(read_bronze(spark, everything, table), table, list(executions))
            frames.append(
                judged.select(sf.input_file_name().alias("file"), (sf.col(REASON) == "").cast("long").alias("good"))
                .groupBy("file")
                .agg(sf.sum("good").alias("good"), sf.sum(1 - sf.col("good")).alias("set_aside"))
            )
    return frames


def _file_rows(evidence: Evidence, judged: RowsOfFile) -> list[Row]:
    aside = []
    for segment in (s for of_table in evidence.bronze.segments.values() for s in of_table):
        good, set_aside = judged.get(segment.path, (0, 0))
        if good + set_aside != segment.rows:
            raise MeasurementError(
                f"{segment.path}: {segment.rows} rows by its footer, {good + set_aside} read by Spark",
                hint="the file changed while it was read: add the run again",
            )
        aside += [segment.path.relative_to(evidence.path).as_posix()] * set_aside
    files = evidence_files(evidence.path, evidence.bronze, pa.table({"file": pa.array(aside, pa.string())}))
    return [row | {"run": evidence.run} for row in files.to_pylist()]
