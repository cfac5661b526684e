"""Evidence into Spark: the readable segments of a run, with declared schemas; what is unreadable is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from brokerlab.evidence.identity import Expected
from brokerlab.evidence.segments import Segment, UnreadableSegment, segments
from brokerlab.evidence.tables import ACTIVITY, ERROR, EVENT, INTERVAL, MESSAGE, OUTCOME, READING, SEQUENCE
from brokerlab.model.plan import RunPlan
from brokerlab.model.tables import Table
from brokerlab.pipeline.schema import empty, spark_schema, with_defaults
from brokerlab.results.directory import RunDirectory

READ = (INTERVAL, ACTIVITY, SEQUENCE, OUTCOME, ERROR, EVENT, READING)


@dataclass(frozen=True)
class Bronze:
    """What lies in a run directory: segments by table name, and what cannot be read or does not belong there."""

    segments: dict[str, list[Segment]]
    unreadable: tuple[UnreadableSegment, ...]
    directory: Path = Path()

    def tables(self) -> tuple[Table, ...]:
        """The tables that were looked for."""
        return tuple(table for table in (*READ, MESSAGE) if table.name in self.segments)

    def rows(self, table: Table) -> int:
        """Rows by the files' own footers: the number that later layers must account for."""
        return sum(s.rows for s in self.segments[table.name])

    def without(self, damaged: Mapping[str, str]) -> Bronze:
        """The same without these files (path -> what is wrong with it), which are then unreadable ones."""
        if not damaged:
            return self
        kept = {name: [s for s in of if str(s.path) not in damaged] for name, of in self.segments.items()}
        bad = [
            UnreadableSegment(
                s.path.relative_to(self.directory), s.execution, s.table,
                f"unreadable, {s.path.stat().st_size} bytes: {damaged[str(s.path)]}",
            )
            for of in self.segments.values() for s in of if str(s.path) in damaged
        ]  # fmt: skip
        return Bronze(kept, (*self.unreadable, *bad), self.directory)

    def missing(self) -> list[tuple[str, str]]:
        """(execution, table) of segments whose rows are missing in all that follows."""
        return [(s.execution, s.table) for s in self.unreadable if s.belongs]

    def is_empty(self) -> bool:
        return not any(self.segments.values())

    def executions(self) -> set[str]:
        """Executions that left evidence of load (probes and events alone do not count)."""
        return {s.execution for t in (INTERVAL, ACTIVITY, SEQUENCE, OUTCOME) for s in self.segments[t.name]}

    def with_messages(self) -> set[str]:
        """Executions that left single messages, of which every file can be read."""
        broken = {s.execution for s in self.unreadable}
        return {s.execution for s in self.segments.get(MESSAGE.name, [])} - broken


def find_evidence(
    run_directory: Path, *, messages: bool = False, footers_only: bool = False, expected: Expected | None = None
) -> Bronze:
    """Check every segment of every table; see evidence.segments. Single messages only where they are asked for."""
    tables = (*READ, *([MESSAGE] if messages else []))
    found = {table.name: segments(run_directory, table, expected, footers_only=footers_only) for table in tables}
    unreadable = tuple(bad for _, of_table in found.values() for bad in of_table)
    return Bronze({name: good for name, (good, _) in found.items()}, unreadable, run_directory)


def reads_messages(plan: RunPlan) -> bool:
    """Single messages are read only where a fault was planned, or where they were kept on request."""
    return any(cell.faults or cell.keep_messages for cell in plan.cells)


def evidence_of(run: RunDirectory, *, footers_only: bool = False) -> Bronze:
    """What an analysis of the run reads."""
    plan, state = run.plan(), run.state()
    expected = Expected(plan.run, {name: e.attempt for name, e in state.executions.items()})
    return find_evidence(run.path, messages=reads_messages(plan), footers_only=footers_only, expected=expected)


def read_bronze(spark: SparkSession, bronze: Bronze, table: Table) -> DataFrame:
    """The rows of `table` as they were written; columns that their writer did not have yet with the default."""
    by_age: dict[tuple[str, ...], list[str]] = {}
    for segment in bronze.segments[table.name]:
        by_age.setdefault(segment.later, []).append(str(segment.path))
    if not by_age:
        return empty(spark, table)
    read = spark.read.schema(spark_schema(table))
    return reduce(
        DataFrame.unionByName, (with_defaults(read.parquet(*paths), table, later) for later, paths in by_age.items())
    )
