"""The Spark job of an analysis: files are scanned in tasks, and what they were reduced to is made into tables.

    range(tasks) ─mapInArrow(Scan)─▶ PARTIAL ─groupBy(execution, part)─applyInArrow(Make)─▶ MADE

One job for all tables: on small data planning and starting each query would be most of the time, and on large data every
file is read once. Between the two stages move partial sums and ranges of numbers, never messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Column, Table
from brokerlab.pipeline.execution_tables import execution_tables
from brokerlab.pipeline.packing import lane_accounts
from brokerlab.pipeline.recount import recounted
from brokerlab.pipeline.scan import (
    EXECUTION,
    LANES,
    MESSAGES,
    PARTIAL,
    PARTIAL_KEY,
    RECOUNT,
    Scan,
    packed_rows,
    unpacked_rows,
)
from brokerlab.pipeline.schema import spark_schema
from brokerlab.pipeline.silence import outages

MADE = Table(
    "made",
    "Rows of result tables, and of what they are made of on the driver.",
    (
        Column("cell", "string", "", "cell of the sweep; empty for notes"),
        Column("repeat", "int", "1", "repeat of the cell"),
        Column("table", "string", "", "what the rows are"),
        Column("rows", "binary", "", "an Arrow stream"),
    ),
)
LANE_ACCOUNTS, OUTAGES, RECOUNTED = "lane_accounts", "outages", "recounted"


@dataclass(frozen=True)
class Make:
    """All rows of PARTIAL of one part of an execution come in, rows of MADE go out."""

    wanted_groups: Mapping[str, int]  # by cell

    def __call__(self, partial: pa.Table) -> pa.Table:
        cell, repeat, part = (partial[name][0].as_py() for name in ("cell", "repeat", "part"))
        kinds = sorted(set(partial["kind"].to_pylist()))
        found = {kind: _rows_of(partial, kind) for kind in kinds}
        if part == LANES:
            found = {LANE_ACCOUNTS: lane_accounts(found["packed"], self.wanted_groups.get(cell, 0))}
        elif part == EXECUTION:
            found = execution_tables(found)
        elif part == MESSAGES:
            found = {OUTAGES: outages(found["silence"])}
        elif part == RECOUNT:
            found = {RECOUNTED: recounted(found["counted"])}
        columns = [[cell] * len(found), [repeat] * len(found), list(found), [packed_rows(r) for r in found.values()]]
        schema = arrow_schema(MADE).remove_metadata()
        return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema)


def _rows_of(partial: pa.Table, kind: str) -> pa.Table:
    mine = partial.filter(pa.array([k == kind for k in partial["kind"].to_pylist()]))
    return unpacked_rows([row.as_buffer() for row in mine["rows"]])


def scanned(spark: SparkSession, scan: Scan) -> DataFrame:
    """Rows of PARTIAL."""
    tasks = len(scan.tasks)
    return spark.range(0, tasks, 1, tasks).mapInArrow(scan, spark_schema(PARTIAL))


def made_of(partial: DataFrame, make: Make) -> DataFrame:
    """Rows of MADE from those of PARTIAL."""

    def made_of_part(rows: pa.Table) -> pa.Table:  # Spark counts the arguments, and would count `self`
        return make(rows)

    return partial.groupBy(*PARTIAL_KEY).applyInArrow(made_of_part, spark_schema(MADE))


def made(spark: SparkSession, scan: Scan, make: Make) -> DataFrame:
    """Rows of MADE."""
    return made_of(scanned(spark, scan), make)


def run(spark: SparkSession, scan: Scan, make: Make) -> dict[str, list[tuple[tuple[str, int], pa.Table]]]:
    """By table: rows with the execution they are of."""
    return by_table(made(spark, scan, make).toArrow())


def by_table(made: pa.Table) -> dict[str, list[tuple[tuple[str, int], pa.Table]]]:
    """Rows of MADE unpacked: by table, rows with the execution they are of."""
    found: dict[str, list[tuple[tuple[str, int], pa.Table]]] = {}
    names: Sequence[list[object]] = [made[n].to_pylist() for n in ("cell", "repeat", "table")]
    for cell, repeat, table, rows in zip(*names, made["rows"], strict=True):
        found.setdefault(str(table), []).append(((str(cell), int(str(repeat))), unpacked_rows([rows.as_buffer()])))
    return found
