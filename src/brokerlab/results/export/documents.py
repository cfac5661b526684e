"""A run or its tables as JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from typing import Any

from brokerlab.model.tables import Table
from brokerlab.results.export.analyzed import AnalyzedRun
from brokerlab.results.tables import COMPARISON, DELIVERY, FAULT, RUN_SUMMARY

JSON_SCHEMA_VERSION = 1
WHOLE = (RUN_SUMMARY, COMPARISON, DELIVERY, FAULT)  # the tables of the JSON document of a whole run
_SUMMARY_COLUMNS = ("label", "durability", "metric", "unit", "n", "median", "low", "high", "set_aside")


def as_json(run: AnalyzedRun, tables: Sequence[Table]) -> str:
    """Tables by name; of a whole run (no tables named) also what was asked, the environment and the verdict."""
    document: dict[str, Any] = {"schema_version": JSON_SCHEMA_VERSION, "run": run.plan.run}
    if not tables:
        document |= {
            "question": run.plan.question,
            "tag": run.plan.tag,
            "plan": run.plan.model_dump(mode="json"),
            "environment": run.directory.environment().model_dump(mode="json"),
            "verdict": run.verdict.model_dump(mode="json"),
        }
    document["tables"] = {t.name: [_finite(row) for row in run.rows(t)] for t in tables or WHOLE}
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def as_csv(run: AnalyzedRun, table: Table) -> str:
    """A head line with the declared columns, then every row. Arrays are JSON, null is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.names())
    for row in run.rows(table):
        writer.writerow([_field(row[name]) for name in table.names()])
    return out.getvalue()


def as_markdown(run: AnalyzedRun, tables: Sequence[Table]) -> str:
    """Verdict, headline and figures; the tables named, column by column, where some are."""
    lines = [f"# {_escaped(run.plan.run)}", "", f"**{run.verdict.verdict}**: {_escaped(run.verdict.headline)}"]
    if run.plan.question:
        lines += ["", _escaped(run.plan.question)]
    if not tables:
        lines += ["", *_table(_SUMMARY_COLUMNS, run.summary)]
    for table in tables:
        lines += ["", f"## {table.name}", "", _escaped(table.meaning), "", *_table(table.names(), run.rows(table))]
    return "\n".join(lines) + "\n"


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
