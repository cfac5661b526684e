"""From a run directory to its tables and verdict.json. Reads evidence only; can be run again at any time."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.judge.comparison import comparison
from brokerlab.judge.findings import Findings
from brokerlab.judge.summary import figures, only_finished, run_summary
from brokerlab.judge.verdict import make_verdict
from brokerlab.model.arrow import arrow_schema
from brokerlab.pipeline.bronze import Bronze, find_evidence
from brokerlab.pipeline.executions import execution_facts
from brokerlab.pipeline.faults import begun_faults, fault_rows
from brokerlab.pipeline.gold import Gold, make_gold
from brokerlab.pipeline.session import spark_session
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.results.tables import COMPARISON, FAULT, RESULT_TABLES, RUN_SUMMARY, UNREADABLE_SEGMENT
from brokerlab.results.verdict import Verdict

READ_BY_VERDICT = ("rate_per_second", "latency_per_second", "latency_per_phase", "latency_histogram", "delivery",
                   "agent_health", "reading_per_second", "steadiness", "quarantined_row")  # fmt: skip


def analyze(run_directory: Path, *, java_home: Path | None = None) -> Verdict:
    """Make tables/ and verdict.json of the run, and return the verdict.

    Works on whatever there is: executions that are missing, cut off or damaged are reasons in the verdict. Without any
    evidence Spark is not even started. The same evidence gives the same files.
    """
    run = RunDirectory(run_directory)
    bronze = find_evidence(run.path, messages=any(cell.faults for cell in run.plan().cells))
    gold = Gold({}, [], [], []) if bronze.is_empty() else _with_spark(run, bronze, java_home)
    verdict, tables = _judge(run, bronze, gold)
    write_tables(run, tables)
    write_json(run.verdict_file, verdict.model_dump(mode="json"))
    return verdict


def _with_spark(run: RunDirectory, bronze: Bronze, java_home: Path | None) -> Gold:
    plan = run.plan()
    unreadable = [(s.execution, s.table) for s in bronze.unreadable]
    facts = partial(execution_facts, plan, run.state(), bronze.executions(), unreadable)
    with spark_session(java_home) as spark:
        return make_gold(spark, bronze, facts, list(map(str, plan.order)))


def _judge(run: RunDirectory, bronze: Bronze, gold: Gold) -> tuple[Verdict, dict[str, pa.Table]]:
    """The verdict, and all result tables, summaries included."""
    plan, state, environment = run.plan(), run.state(), run.environment()
    rows: dict[str, list[Any]] = {n: gold.tables[n].to_pylist() if n in gold.tables else [] for n in READ_BY_VERDICT}
    found = figures(rows["rate_per_second"], rows["latency_per_phase"], rows["delivery"], rows["agent_health"])
    rows[FAULT.name] = fault_rows(begun_faults(gold.events), gold.outages, rows["delivery"], gold.events)
    findings = Findings(
        plan=plan,
        state=state,
        environment=environment,
        tables=rows,
        figures=found,
        events=list(gold.events),
        errors=list(gold.errors),
        set_aside=tuple((s.execution, str(s)) for s in bronze.unreadable),
        with_evidence=frozenset(bronze.executions()),
    )
    finished = only_finished(found, state)
    summary = run_summary(finished, plan, environment)
    compared = comparison(finished, plan, environment)
    tables = {name: gold.tables.get(name, arrow_schema(t).empty_table()) for name, t in RESULT_TABLES.items()}
    tables[UNREADABLE_SEGMENT.name] = _unreadable(bronze)
    tables[FAULT.name] = pa.Table.from_pylist(rows[FAULT.name], arrow_schema(FAULT))
    tables[RUN_SUMMARY.name] = pa.Table.from_pylist(summary, arrow_schema(RUN_SUMMARY))
    tables[COMPARISON.name] = pa.Table.from_pylist(compared, arrow_schema(COMPARISON))
    return make_verdict(findings, [str(s) for s in bronze.unreadable]), tables


def _unreadable(bronze: Bronze) -> pa.Table:
    rows = [
        {"file": str(s.path), "table": s.table, "execution": s.execution, "reason": s.reason} for s in bronze.unreadable
    ]
    return pa.Table.from_pylist(rows, arrow_schema(UNREADABLE_SEGMENT))


def write_tables(run: RunDirectory, tables: dict[str, pa.Table]) -> None:
    """Replace tables/ as a whole: a reader sees the old tables or the new ones, never a mixture."""
    fresh = run.path / f".tables-new-{os.getpid()}"
    old = run.path / f".tables-old-{os.getpid()}"
    shutil.rmtree(fresh, ignore_errors=True)
    for name, table in tables.items():
        (fresh / name).mkdir(parents=True)
        pq.write_table(
            table.cast(arrow_schema(RESULT_TABLES[name])), fresh / name / "part-0.parquet", compression="zstd"
        )
    if run.tables.exists():
        run.tables.replace(old)
    fresh.replace(run.tables)
    shutil.rmtree(old, ignore_errors=True)
