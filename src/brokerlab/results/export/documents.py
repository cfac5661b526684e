"""Runs or their tables as JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Table
from brokerlab.results.analyzed import AnalyzedRun, rows_of
from brokerlab.results.tables import COMPARISON, DELIVERY, FAULT, RUN_SUMMARY

JSON_SCHEMA_VERSION = 1
WHOLE = (RUN_SUMMARY, COMPARISON, DELIVERY, FAULT)  # the tables of the JSON document of a whole run
_SUMMARY_COLUMNS = ("label", "durability", "metric", "unit", "n", "median", "low", "high", "set_aside")


def as_json(runs: Sequence[AnalyzedRun], tables: Sequence[Table]) -> str:
    """One document for a run; a list of them for several. Tables by name; of whole runs (no tables named) also what was asked,
    the environment and the verdict."""
    found = [_document(run, tables) for run in runs]
    whole = found[0] if len(found) == 1 else {"schema_version": JSON_SCHEMA_VERSION, "runs": found}
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


def _document(run: AnalyzedRun, tables: Sequence[Table]) -> dict[str, Any]:
    document: dict[str, Any] = {"schema_version": JSON_SCHEMA_VERSION, "run": run.plan.run}
    if not tables:
        document |= {
            "question": run.plan.question,
            "tag": run.plan.tag,
            "plan": run.plan.model_dump(mode="json"),
            "environment": run.environment.model_dump(mode="json"),
            "verdict": run.verdict.model_dump(mode="json"),
        }
    document["tables"] = {t.name: [_finite(row) for row in rows_of(run, t)] for t in tables or WHOLE}
    return document


def as_csv(runs: Sequence[AnalyzedRun], table: Table) -> str:
    """A head line with the declared columns, then every row. Arrays are JSON, null is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.names())
    for run in runs:
        for row in rows_of(run, table):
            writer.writerow([_field(row[name]) for name in table.names()])
    return out.getvalue()


def write_parquet(file: Path, runs: Sequence[AnalyzedRun], table: Table) -> None:
    """The rows of one table, run by run: no more than one run's are in memory."""
    with pq.ParquetWriter(file, arrow_schema(table)) as writer:
        for run in runs:
            writer.write_table(run.table(table).cast(arrow_schema(table)))


def as_markdown(runs: Sequence[AnalyzedRun], tables: Sequence[Table]) -> str:
    """Verdict, headline and figures of every run; the tables named, column by column, where some are."""
    return "\n".join("\n".join(_markdown(run, tables)) + "\n" for run in runs)


def _markdown(run: AnalyzedRun, tables: Sequence[Table]) -> list[str]:
    lines = [f"# {_escaped(run.plan.run)}", "", f"**{run.verdict.verdict}**: {_escaped(run.verdict.headline)}"]
    if run.plan.question:
        lines += ["", _escaped(run.plan.question)]
    if not tables:
        lines += ["", *_table(_SUMMARY_COLUMNS, rows_of(run, RUN_SUMMARY))]
    for table in tables:
        lines += ["", f"## {table.name}", "", _escaped(table.meaning), "", *_table(table.names(), rows_of(run, table))]
    return lines


def _table(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[str]:
    body = [f"| {' | '.join(_escaped(_field(row[c])) for c in columns)} |" for row in rows]
    return [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *body]


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, list) else str(value)


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN and no infinity: both become null."""

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(v) for v in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {name: plain(value) for name, value in row.items()}


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
