"""Reading result tables back with pyarrow: no Spark, no broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.errors import MeasurementError, NotFoundError
from brokerlab.model.arrow import arrow_schema, as_declared, schema_problem
from brokerlab.model.tables import Table
from brokerlab.results.directory import RunDirectory
from brokerlab.results.verdict import Verdict


def read_table(run: RunDirectory, table: Table) -> pa.Table:
    """All rows of `table`, with its declared schema; no rows when the analysis did not write it. Columns that the
    analysis of an earlier version did not have yet are read with their default."""
    schema = arrow_schema(table)
    files = sorted((run.tables / table.name).glob("*.parquet"))
    if not files:
        return schema.empty_table()
    parts = []
    for file in files:
        try:
            with pq.ParquetFile(file) as opened:  # read_table would import pandas by way of pyarrow.dataset: a second
                found = opened.read()
        except pa.ArrowException as error:
            raise _unreadable(run, file, str(error).splitlines()[0]) from error
        wrong = schema_problem(found.schema, table)
        if wrong is not None:
            raise _unreadable(run, file, wrong)
        parts.append(as_declared(found, table))
    return pa.concat_tables(parts)


def _unreadable(run: RunDirectory, file: Path, problem: str) -> MeasurementError:
    return MeasurementError(
        f"{file} cannot be read: {problem}",
        hint=f"brokerlab analyze {run.name} makes the tables again from the evidence",
    )


def read_rows(run: RunDirectory, table: Table) -> list[dict[str, Any]]:
    """The rows of `table` as dictionaries by column name. For small tables: summaries, delivery, health."""
    rows: list[dict[str, Any]] = read_table(run, table).to_pylist()
    return rows


def read_verdict(run: RunDirectory) -> Verdict:
    """verdict.json, or a NotFoundError that says how to make it."""
    verdict = run.verdict()
    if verdict is None:
        raise NotFoundError(f"{run.name} has no verdict yet", hint=f"brokerlab analyze {run.name} makes it")
    return verdict
