"""Bronze and silver of many runs: every file of evidence by reference, and how many of its rows keep the rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from brokerlab.errors import MeasurementError
from brokerlab.evidence.segments import Segment
from brokerlab.lake.survey import Candidate
from brokerlab.pipeline.bronze import Bronze, find_evidence, read_bronze
from brokerlab.pipeline.silver import validated
from brokerlab.results.executions import all_executions

Row = dict[str, Any]
RowsOfFile = Mapping[Path, tuple[int, int]]  # good, set aside


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
    bronze = find_evidence(path, messages=any(cell.faults for cell in plan.cells))
    return Evidence(candidate.run, path, bronze, tuple(map(str, all_executions(plan, state))))


def file_rows(evidence: Evidence) -> list[Row]:
    """Rows of evidence_file."""
    found = []
    for table in evidence.bronze.tables():
        for segment in evidence.bronze.segments[table.name]:
            name = segment.path.relative_to(evidence.path)
            found.append(_file_row(evidence, name, table.name, segment.execution, segment.rows, ""))
    for bad in evidence.bronze.unreadable:
        found.append(_file_row(evidence, bad.path, bad.table, bad.execution, 0, bad.reason))
    return sorted(found, key=lambda row: str(row["file"]))


def judged_rows(spark: SparkSession, runs: Sequence[Evidence]) -> RowsOfFile:
    """How many rows of every readable file keep the rules, and how many do not, counted in Spark.

    Runs with the same executions are read together: the rules are then the same for them, and a query for each of a
    thousand runs would be mostly planning.
    """
    alike: dict[tuple[str, ...], list[Evidence]] = defaultdict(list)
    for one in runs:
        alike[one.executions].append(one)
    counted: dict[Path, tuple[int, int]] = {}
    frames = [frame for executions, those in alike.items() for frame in _counts(spark, executions, those)]
    if not frames:
        return counted
    for row in reduce(DataFrame.unionByName, frames).toArrow().to_pylist():
        counted[Path(unquote(urlparse(row["file"]).path))] = (row["good"], row["set_aside"])
    return counted


def count_rows(evidence: Evidence, judged: RowsOfFile) -> list[Row]:
    """Rows of evidence_count. MeasurementError where Spark saw another number of rows than the files' footers say."""
    found: dict[tuple[str, str], Row] = {}

    def of(table: str, execution: str) -> Row:
        zero = dict.fromkeys(("files", "rows", "good", "set_aside", "unreadable_files"), 0)
        return found.setdefault(
            (table, execution), {"run": evidence.run, "table": table, "execution": execution, **zero}
        )

    for table in evidence.bronze.tables():
        for segment in evidence.bronze.segments[table.name]:
            good, set_aside = judged.get(segment.path, (0, 0))
            _same_rows(segment, good + set_aside)
            row = of(table.name, segment.execution)
            row["files"] += 1
            row["rows"] += segment.rows
            row["good"] += good
            row["set_aside"] += set_aside
    for bad in evidence.bronze.unreadable:
        of(bad.table, bad.execution)["unreadable_files"] += 1
    return [row for _, row in sorted(found.items())]


def _counts(spark: SparkSession, executions: Sequence[str], runs: Iterable[Evidence]) -> list[DataFrame]:
    """One frame (file, good, set_aside) for every table that has files."""
    together: dict[str, list[Segment]] = defaultdict(list)
    tables = {table.name: table for one in runs for table in one.bronze.tables()}
    for one in runs:
        for name, of_table in one.bronze.segments.items():
            together[name] += of_table
    everything = Bronze(dict(together), ())
    frames = []
    for name, table in tables.items():
        if together[name]:
            counted = validated(read_bronze(spark, everything, table), table, list(executions)).counted()
            frames.append(
                counted.select(sf.input_file_name().alias("file"), sf.col("good").cast("long").alias("good"))
                .groupBy("file")
                .agg(sf.sum("good").alias("good"), sf.sum(1 - sf.col("good")).alias("set_aside"))
            )
    return frames


def _same_rows(segment: Segment, seen: int) -> None:
    if seen != segment.rows:
        raise MeasurementError(
            f"{segment.path}: {segment.rows} rows by its footer, {seen} read by Spark",
            hint="the file changed while it was read: add the run again",
        )


def _file_row(evidence: Evidence, name: Path, table: str, execution: str, rows: int, reason: str) -> Row:
    facts = (evidence.path / name).stat()
    return {
        "run": evidence.run,
        "file": name.as_posix(),
        "table": table,
        "execution": execution,
        "bytes": facts.st_size,
        "modified_unix_ns": facts.st_mtime_ns,
        "rows": rows,
        "reason": reason,
    }
