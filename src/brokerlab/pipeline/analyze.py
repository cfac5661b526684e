"""From a run directory to its tables and verdict.json. Reads evidence only; can be run again at any time."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.evidence.segments import ROOTS
from brokerlab.judge.figures import figures
from brokerlab.judge.findings import Findings
from brokerlab.judge.tailing import of_tailing, tailing_cells
from brokerlab.judge.verdict import Judgement, judge
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Table
from brokerlab.pipeline.all_repeats import with_all_repeats
from brokerlab.pipeline.bronze import Bronze, evidence_of
from brokerlab.pipeline.derived import after_judgement, before_judgement
from brokerlab.pipeline.evidence_files import evidence_files
from brokerlab.pipeline.executions import execution_facts
from brokerlab.pipeline.faults import begun_faults, fault_rows
from brokerlab.pipeline.gold import Gold, make_gold
from brokerlab.pipeline.profiles import SparkSettings
from brokerlab.pipeline.session import spark_session
from brokerlab.pipeline.spectrum import latency_spectrum
from brokerlab.results.derived_tables import CATCH_UP, COST, DERIVED_TABLES, DIP, LATENCY_SPECTRUM, MINUTE_RATE, RECOUNT
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.results.executions import all_executions
from brokerlab.results.tables import (
    COMPARISON,
    EVIDENCE_FILE,
    FAULT,
    LATENCY_HISTOGRAM,
    LATENCY_PER_PHASE,
    QUARANTINED_ROW,
    RESULT_TABLES,
    RUN_SUMMARY,
    STORED_TABLES,
    UNREADABLE_SEGMENT,
)
from brokerlab.results.verdict import Verdict

READ_BY_VERDICT = ("rate_per_second", "latency_per_second", "latency_per_phase", "latency_histogram", "delivery",
                   "agent_health", "reading_per_second", "steadiness", "quarantined_row")  # fmt: skip


def analyze(run_directory: Path, *, java_home: Path | None = None, spark: SparkSettings | None = None) -> Verdict:
    """Make tables/ and verdict.json of the run, and return the verdict.

    Works on whatever there is: executions that are missing, cut off or damaged are reasons in the verdict. Without any
    evidence Spark is not even started. The same evidence gives the same files.
    """
    run = RunDirectory(run_directory)
    gold = _with_spark(run, java_home, spark) if _any_segment(run.path) else Gold({}, evidence_of(run))
    verdict, tables = judged_tables(run, gold)
    write_tables(run, tables)
    write_json(run.verdict_file, verdict.model_dump(mode="json"))
    return verdict


def _any_segment(run_directory: Path) -> bool:
    return any(path for root in ROOTS for path in (run_directory / root).glob("*/*/*.parquet"))


def _with_spark(run: RunDirectory, java_home: Path | None, settings: SparkSettings | None) -> Gold:
    """Footers of evidence are read while the JVM starts."""
    plan, state = run.plan(), run.state()
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(evidence_of, run, footers_only=True)
        with spark_session(java_home, settings) as spark:
            bronze = looking.result()
            if bronze.is_empty():
                return Gold({}, bronze)
            wanted_groups = {cell.cell: cell.groups for cell in plan.cells}
            planned = list(map(str, all_executions(plan, state)))
            return make_gold(spark, bronze, partial(execution_facts, plan, state), planned, wanted_groups)


def judged_tables(run: RunDirectory, gold: Gold) -> tuple[Verdict, dict[str, pa.Table]]:
    """The verdict, and all result tables, summaries included."""
    bronze = gold.bronze
    plan = run.plan()
    rows: dict[str, list[Any]] = {n: gold.tables[n].to_pylist() if n in gold.tables else [] for n in READ_BY_VERDICT}
    rows[FAULT.name] = fault_rows(begun_faults(gold.events), gold.outages, rows["delivery"], gold.events)
    derived = before_judgement(plan, run.environment(), gold, rows)
    rows[RECOUNT.name] = derived[RECOUNT.name]
    findings = Findings(
        plan=plan,
        state=run.state(),
        environment=run.environment(),
        tables=rows,
        figures=figures(
            of_tailing(plan, rows["rate_per_second"]),
            of_tailing(plan, rows["latency_per_phase"]),
            rows["delivery"],
            rows["agent_health"],
            readings=rows["reading_per_second"],
            cost=derived[COST.name],
            catch_up=derived[CATCH_UP.name],
            minutes=derived[MINUTE_RATE.name],
            dips=derived[DIP.name],
            ceilings=run.environment().ceilings,
            tailing=tailing_cells(plan),
        ),
        events=list(gold.events),
        errors=list(gold.errors),
        unreadable=tuple((s.execution, str(s)) for s in bronze.unreadable if s.belongs),
        left_out=tuple((s.execution, str(s)) for s in bronze.unreadable if not s.belongs),
        with_evidence=frozenset(bronze.executions()),
    )
    judgement = judge(findings, [str(s) for s in bronze.unreadable])
    derived |= after_judgement(plan, findings.figures, judgement)
    tables = {
        name: gold.tables.get(name, arrow_schema(t.computed()).empty_table()) for name, t in RESULT_TABLES.items()
    }
    for table, found in (
        (FAULT, rows[FAULT.name]),
        (RUN_SUMMARY, judgement.summary),
        (COMPARISON, judgement.comparison),
        (UNREADABLE_SEGMENT, _unreadable(bronze)),
        *((table, derived[table.name]) for table in DERIVED_TABLES),
    ):
        tables[table.name] = pa.Table.from_pylist(found, arrow_schema(table.computed()))
    tables[EVIDENCE_FILE.name] = evidence_files(run.path, bronze, tables[QUARANTINED_ROW.name])
    merged = with_all_repeats(tables[LATENCY_PER_PHASE.name], tables[LATENCY_HISTOGRAM.name], judgement.counted)
    tables[LATENCY_PER_PHASE.name], tables[LATENCY_HISTOGRAM.name] = merged
    tables[LATENCY_SPECTRUM.name] = latency_spectrum(*merged)
    return judgement.verdict, {name: _stored(STORED_TABLES[name], t, plan.run, judgement) for name, t in tables.items()}


def _unreadable(bronze: Bronze) -> list[dict[str, str]]:
    return [
        {"file": str(s.path), "table": s.table, "execution": s.execution, "reason": s.reason} for s in bronze.unreadable
    ]


def _stored(table: Table, found: pa.Table, run: str, judgement: Judgement) -> pa.Table:
    """The rows as they are written: with the run, and whether their execution counts. Repeat 0 is made of what counts."""
    aside = {(v.cell, s.repeat) for v in judgement.verdict.cells for s in v.set_aside}
    columns = {name: found[name] for name in found.column_names}
    columns["run"] = pa.array([run] * len(found), pa.string())
    if "counted" in table.names():
        where = zip(found["cell"].to_pylist(), found["repeat"].to_pylist(), strict=True)
        columns["counted"] = pa.array([key not in aside for key in where], pa.bool_())
    return pa.table({name: columns[name] for name in table.names()})


def _delete_leftovers(run: RunDirectory) -> None:
    """What an analysis that was killed while it wrote left behind. Another one that is at work is left alone."""
    for path in run.path.glob(".tables-*-*"):
        pid = path.name.rpartition("-")[2]
        if not (pid.isdigit() and psutil.pid_exists(int(pid))):
            shutil.rmtree(path, ignore_errors=True)


def write_tables(run: RunDirectory, tables: dict[str, pa.Table]) -> None:
    """Replace tables/ as a whole: a reader sees the old tables or the new ones, never a mixture."""
    _delete_leftovers(run)
    fresh = run.path / f".tables-new-{os.getpid()}"
    old = run.path / f".tables-old-{os.getpid()}"
    shutil.rmtree(fresh, ignore_errors=True)
    for name, table in tables.items():
        (fresh / name).mkdir(parents=True)
        pq.write_table(
            table.cast(arrow_schema(STORED_TABLES[name])), fresh / name / "part-0.parquet", compression="zstd"
        )
    if run.tables.exists():
        run.tables.replace(old)
    fresh.replace(run.tables)
    shutil.rmtree(old, ignore_errors=True)
