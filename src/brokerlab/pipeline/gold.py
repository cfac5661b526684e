"""All tables of a run that are made in Spark: one job (pipeline.work), then what is summed up of its few rows.

Gold is small (thousands of rows, however many messages there were), so it is brought to the driver as Arrow and written
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from brokerlab.errors import MeasurementError
from brokerlab.evidence.tables import EVENT, OUTCOME, SEQUENCE
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Table
from brokerlab.pipeline import delivery, faults
from brokerlab.pipeline.bronze import Bronze
from brokerlab.pipeline.evidence_files import with_file_names
from brokerlab.pipeline.execution_tables import EXECUTION_TABLES, STRANGE
from brokerlab.pipeline.executions import ExecutionFacts
from brokerlab.pipeline.files import file_parts, is_divided
from brokerlab.pipeline.packing import split_for
from brokerlab.pipeline.rules import judged
from brokerlab.pipeline.scan import (
    ARRIVALS,
    SEEN,
    Scan,
    quarantined,
    read_parts,
    seen,
    tasks_of,
)
from brokerlab.pipeline.silence import After
from brokerlab.pipeline.silver import rules
from brokerlab.pipeline.work import LANE_ACCOUNTS, OUTAGES, RECOUNTED, Make, run
from brokerlab.results import tables as result

QUERIES_AT_ONCE = 6
MOST_ERRORS = 100
Found = Mapping[str, list[tuple[tuple[str, int], pa.Table]]]


@dataclass(frozen=True)
class Gold:
    """Result tables by name, and the few silver rows the verdict reads as they are."""

    tables: dict[str, pa.Table]
    bronze: Bronze  # without the files that turned out to be damaged
    events: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    executions: list[ExecutionFacts] = field(default_factory=list)
    outages: list[dict[str, Any]] = field(default_factory=list)  # (cell, repeat) and rows of silence.OUTAGE
    arrivals: list[dict[str, Any]] = field(default_factory=list)  # rows of scan.ARRIVALS, one a group
    messages: list[dict[str, Any]] = field(default_factory=list)  # rows of recount.RECOUNTED


def make_gold(
    spark: SparkSession,
    bronze: Bronze,
    facts: Callable[..., list[ExecutionFacts]],
    planned: list[str],
    wanted_groups: Mapping[str, int],
) -> Gold:
    """Every table but the summaries. `facts` is executions.execution_facts with the run already given; `planned` are
    executions, `wanted_groups` how many groups each cell is to have."""
    journal = read_journal(bronze, planned)
    begun = faults.begun_faults(journal.events)
    after: dict[tuple[str, int], list[After]] = {}
    for f in begun:
        after.setdefault((f.cell, f.repeat), []).append(After(f.number, f.from_mono_ns, f.until_mono_ns))
    make = Make(wanted_groups)
    bronze = bronze.without(journal.damaged)
    while True:
        scan = _scan(spark, bronze, planned, after)
        found = run(spark, scan, make)
        damaged = {r["path"]: r["reason"] for r in _rows(found, "damaged")}
        bronze = bronze.without(damaged)
        if not any(is_divided(scan.tasks, path) for path in damaged):
            break  # else rows of the file's other parts are among those found
    return assembled(bronze, journal, found, _exact_outages(spark, scan, make, found), facts)


def assembled(
    bronze: Bronze,
    journal: Journal,
    found: Found,
    outages: list[dict[str, Any]],
    facts: Callable[..., list[ExecutionFacts]],
) -> Gold:
    """The tables from what tasks have made, after every row of evidence was accounted for. MeasurementError where it is
    not."""
    counted = [*journal.seen, *_rows(found, "seen")]
    check_counts({t.name: bronze.rows(t) for t in bronze.tables()}, counted)
    aside = pa.concat_tables([*journal.rejected, *_tables(found, "quarantined")])
    rejected = _in_order(with_file_names(aside, bronze.directory), result.QUARANTINED_ROW)
    executions = facts(
        with_evidence=bronze.executions(),
        unreadable=bronze.missing(),
        groups=_groups(counted),
        events=journal.events,
        rejected=rejected.to_pylist(),
    )
    tables = {t.name: _in_order(_together(found, t.name, t), t) for t, _ in EXECUTION_TABLES}
    accounts: dict[tuple[str, int], list[pa.Table]] = {}
    for execution, rows in found.get(LANE_ACCOUNTS, []):
        accounts.setdefault(execution, []).append(rows)
    of_lanes = {execution: pa.concat_tables(rows) for execution, rows in accounts.items()}
    tables[result.DELIVERY.name] = _in_order(
        delivery.delivery(of_lanes, _rows(found, STRANGE), executions), result.DELIVERY
    )
    tables[result.LOST_RANGE.name] = _in_order(delivery.lost_range(of_lanes, executions), result.LOST_RANGE)
    tables[result.QUARANTINED_ROW.name] = rejected
    return Gold(
        tables,
        bronze,
        journal.events,
        _errors(found),
        executions,
        outages,
        together(pa.concat_tables([ARRIVALS.empty_table(), *_tables(found, "arrivals")])),
        _rows(found, RECOUNTED),
    )


@dataclass(frozen=True)
class Journal:
    """What is known before anything else: the events of the run, which say of faults what is to be looked for."""

    events: list[dict[str, Any]]
    seen: list[dict[str, Any]]
    rejected: list[pa.Table]
    damaged: dict[str, str]


def read_journal(bronze: Bronze, planned: list[str]) -> Journal:
    found = Journal([], [], [arrow_schema(result.QUARANTINED_ROW.computed()).remove_metadata().empty_table()], {})
    parts = [part for part, _ in file_parts(bronze, [EVENT])]
    for chunk in read_parts(EVENT, parts, found.damaged.__setitem__):
        good, bad = judged(chunk.rows, rules(EVENT, planned))
        found.events.extend(good.to_pylist())
        found.seen.extend(seen(EVENT, good, len(bad)).to_pylist())
        if bad:
            found.rejected.append(quarantined(EVENT, chunk, bad))
    return found


def _scan(
    spark: SparkSession, bronze: Bronze, planned: list[str], after: Mapping[tuple[str, int], Sequence[After]]
) -> Scan:
    tables = [t for t in bronze.tables() if t is not EVENT]
    ranges: dict[str, int] = {}
    for table in (SEQUENCE, OUTCOME):
        for segment in bronze.segments[table.name]:
            ranges[segment.execution] = ranges.get(segment.execution, 0) + segment.rows
    files = file_parts(bronze, tables)
    cores = spark.sparkContext.defaultParallelism
    weight = sum(w for _, w in files)
    tasks = tasks_of(files, max(cores, min(weight >> 25, len(files))))
    return Scan(
        tasks=tasks or [[]],
        rules={t.name: rules(t, planned) for t in tables},
        splits={execution: split_for(n) for execution, n in ranges.items()},
        faults=after,
    )


def _exact_outages(spark: SparkSession, scan: Scan, make: Make, found: Found) -> list[dict[str, Any]]:
    """Rows of silence.OUTAGE with their execution. Where the longest silence is shorter than what was passed on, messages
    are read again for finer ones."""
    while True:
        rows = [{"cell": c, "repeat": r} | row for (c, r), t in found.get(OUTAGES, []) for row in t.to_pylist()]
        if all(row["exact"] for row in rows):
            return rows
        messages = [[part for part in task if part.table == "message"] for task in scan.tasks]
        scan = replace(scan, tasks=[task for task in messages if task], rounds=scan.rounds + 1)
        found = run(spark, scan, make)


@contextmanager
def queries_at_once() -> Iterator[ThreadPoolExecutor]:
    """A pool that is waited for only when all went well: after Ctrl-C a query may wait for its answer until the JVM is
    gone."""
    pool = ThreadPoolExecutor(QUERIES_AT_ONCE)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _tables(found: Found, name: str) -> list[pa.Table]:
    return [rows for _, rows in found.get(name, [])]


def _rows(found: Found, name: str) -> list[dict[str, Any]]:
    return [row for table in _tables(found, name) for row in table.to_pylist()]


def _together(found: Found, name: str, table: Table) -> pa.Table:
    schema = arrow_schema(table.computed()).remove_metadata()
    return pa.concat_tables([schema.empty_table(), *(t.cast(schema) for t in _tables(found, name))])


def _in_order(found: pa.Table, table: Table) -> pa.Table:
    """Declared types, rows sorted by their names and numbers: the same evidence gives the same file."""
    made = table.computed()
    keys = [(c.name, "ascending") for c in made.columns if c.type in ("string", "int", "long")]
    return found.select(list(made.names())).cast(arrow_schema(made)).sort_by(keys)


def _groups(counted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """(cell, repeat, group) of the consumers that left evidence; producers' rows have an empty group or none."""
    found = {(row["cell"], row["repeat"], row["group"]) for row in counted if row["group"]}
    return [{"cell": cell, "repeat": repeat, "group": group} for cell, repeat, group in sorted(found)]


def _errors(found: Found) -> list[dict[str, Any]]:
    """The commonest errors of each execution by kind, a few only."""
    by_kind: dict[tuple[str, int, str], dict[str, Any]] = {}
    for row in _rows(found, "error"):
        key = (row["cell"], row["repeat"], row["kind"])
        known = by_kind.setdefault(key, row | {"count": 0})
        known["count"] += row["count"]
    return [row for _, row in sorted(by_kind.items(), key=lambda e: (-e[1]["count"], e[0]))][:MOST_ERRORS]


def together(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows of ARRIVALS, one a group, of those of many files."""
    summed = rows.group_by(["cell", "repeat", "group"]).aggregate(
        [("received", "sum"), ("first_mono_ns", "min"), ("last_mono_ns", "max")]
    )
    return list(summed.select([0, 1, 2, 3, 4, 5]).rename_columns(ARRIVALS.names).to_pylist())


def check_counts(bronze_rows: Mapping[str, int], layers: Sequence[Mapping[str, Any]]) -> None:
    """Raise unless for every table the rows of its files are all in silver or in quarantine. `layers` are rows of
    scan.SEEN."""
    found = dict.fromkeys(bronze_rows, 0)
    for row in layers:
        found[row["table"]] += row["good"] + row["set_aside"]
    wrong = [
        f"{t}: {bronze_rows[t]} rows in files, {n} after checking" for t, n in found.items() if n != bronze_rows[t]
    ]
    if wrong:
        raise MeasurementError("evidence changed while it was read: " + "; ".join(wrong), hint="analyze the run again")


__all__ = ["Gold", "SEEN", "assembled", "check_counts", "make_gold", "queries_at_once", "read_journal"]
