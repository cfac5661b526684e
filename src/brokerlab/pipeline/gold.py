"""Silver to gold: all tables of a run from checked evidence, in few Spark jobs.

Gold tables are bounded by seconds x series, never by messages, so they are brought to the driver as Arrow and written
there. Queries run side by side: on small data most of their time is planning, which uses one core each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from brokerlab.errors import MeasurementError
from brokerlab.evidence.tables import ACTIVITY, ERROR, EVENT, INTERVAL, MESSAGE, OUTCOME, READING, SEQUENCE
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Table
from brokerlab.pipeline import agents, delivery, faults, latency, rates, readings, steadiness
from brokerlab.pipeline.bronze import Bronze, read_bronze
from brokerlab.pipeline.executions import ExecutionFacts, facts_table
from brokerlab.pipeline.silver import Silver, validated
from brokerlab.results import tables as result

QUERIES_AT_ONCE = 6
OUTAGES = "outages"  # among the queries; no table of its own


@dataclass(frozen=True)
class Gold:
    """Result tables by name, and the few silver rows the verdict reads as they are."""

    tables: dict[str, pa.Table]
    events: list[dict[str, Any]]
    errors: list[dict[str, Any]]
    executions: list[ExecutionFacts]
    outages: list[dict[str, Any]] = field(default_factory=list)  # rows of faults.outages


def make_gold(
    spark: SparkSession, bronze: Bronze, facts: Callable[..., list[ExecutionFacts]], planned: list[str]
) -> Gold:
    """Every table but the summaries. `facts` is executions.execution_facts with the run already given."""
    try:
        return _make_gold(spark, bronze, facts, planned)
    finally:
        with suppress(Py4JError):  # after Ctrl-C the connection may be broken, and the session ends anyway
            spark.catalog.clearCache()


def _make_gold(
    spark: SparkSession, bronze: Bronze, facts: Callable[..., list[ExecutionFacts]], planned: list[str]
) -> Gold:
    with queries_at_once() as pool:
        judged = pool.map(lambda t: validated(read_bronze(spark, bronze, t), t, planned), bronze.tables())
        silver = dict(zip((t.name for t in bronze.tables()), judged, strict=True))
        first = pool.submit(_first, bronze, silver, facts)
        rows = {name: s.rows for name, s in silver.items()}
        running = {name: pool.submit(query) for name, query in _queries(spark, rows, first)}
        made = {name: future.result() for name, future in running.items()}
    found = first.result()
    outages = made.pop(OUTAGES).to_pylist() if OUTAGES in made else []
    made[result.QUARANTINED_ROW.name] = _in_order(found.rejected, result.QUARANTINED_ROW)
    return Gold(made, found.events, found.errors, found.executions, outages)


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


@dataclass(frozen=True)
class _First:
    """What other tables and the verdict need to know before anything else."""

    executions: list[ExecutionFacts]
    events: list[dict[str, Any]]
    errors: list[dict[str, Any]]
    rejected: pa.Table


def _first(bronze: Bronze, silver: Mapping[str, Silver], facts: Callable[..., list[ExecutionFacts]]) -> _First:
    row_counts = _row_counts(bronze, silver)
    events = silver[EVENT.name].rows.toArrow().to_pylist()
    rejected = arrow_schema(result.QUARANTINED_ROW.computed()).empty_table()
    if not all(entry["good"] for entry in row_counts):
        rejected = reduce(DataFrame.unionByName, [s.quarantined for s in silver.values()]).toArrow()
    errors = _errors(silver[ERROR.name].rows).toArrow().to_pylist() if bronze.segments[ERROR.name] else []
    executions = facts(groups=_groups(row_counts), events=events, rejected=rejected.to_pylist())
    return _First(executions, events, errors, rejected)


def _queries(
    spark: SparkSession, rows: Mapping[str, DataFrame], first: Future[_First]
) -> Iterator[tuple[str, Callable[[], pa.Table]]]:
    for table, frame in _frames(spark, rows, first):
        yield table.name, _query(table, frame)
    begun = faults.begun_faults(first.result().events)
    if begun and MESSAGE.name in rows:
        found = faults.outages(rows[MESSAGE.name], spark.createDataFrame(faults.begun_faults_table(begun)))
        yield OUTAGES, found.toArrow


def _frames(
    spark: SparkSession, rows: Mapping[str, DataFrame], first: Future[_First]
) -> Iterator[tuple[Table, DataFrame]]:
    """The plan of every gold table, one by one: the first run while later ones are still being planned.

    What needs no knowledge of the executions comes before `first` is waited for.
    """
    interval, activity, sequence = rows[INTERVAL.name], rows[ACTIVITY.name], rows[SEQUENCE.name]
    samples = latency.samples(interval).cache()
    per_second = latency.merged(samples, latency.SECOND_KEY, within=latency.PHASE_KEY).cache()
    of_second = latency.latency_per_second(per_second)
    yield result.LATENCY_PER_SECOND, of_second
    rate = rates.rate_per_second(activity, interval).cache()
    yield result.RATE_PER_SECOND, rate
    per_phase = latency.merged(per_second, latency.PHASE_KEY).cache()
    yield result.LATENCY_PER_PHASE, latency.latency_per_phase(per_phase)
    yield result.LATENCY_HISTOGRAM, latency.latency_histogram(per_phase)
    yield result.LATENCY_HEAT, latency.latency_heat(per_second)
    yield result.STEADINESS, steadiness.steadiness(rate, of_second)
    yield result.AGENT_HEALTH, agents.agent_health(activity, samples)
    yield result.READING_PER_SECOND, readings.reading_per_second(rows[READING.name], rate)
    accounted = spark.createDataFrame(facts_table(first.result().executions))
    lanes = delivery.lanes(sequence, rows[OUTCOME.name], accounted).cache()
    yield result.DELIVERY, delivery.delivery(lanes, activity, accounted)
    yield result.LOST_RANGE, delivery.lost_range(lanes)


def _query(table: Table, frame: DataFrame) -> Callable[[], pa.Table]:
    return lambda: _in_order(frame.toArrow(), table)


def _in_order(found: pa.Table, table: Table) -> pa.Table:
    """Declared types, rows sorted by their names and numbers: the same evidence gives the same file."""
    made = table.computed()
    keys = [(c.name, "ascending") for c in made.columns if c.type in ("string", "int", "long")]
    return found.select(list(made.names())).cast(arrow_schema(made)).sort_by(keys)


def _groups(row_counts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """(cell, repeat, group) of the consumers that left evidence; producers' rows have an empty group or none."""
    found = {(b["cell"], b["repeat"], b["group"]) for b in row_counts if b["good"] and b["group"]}
    return [{"cell": cell, "repeat": repeat, "group": group} for cell, repeat, group in sorted(found)]


def _errors(errors: DataFrame) -> DataFrame:
    """The commonest errors of each execution by kind, a few only."""
    return (
        errors.groupBy("cell", "repeat", "kind")
        .agg(sf.sum("count").alias("count"), sf.first("text").alias("text"))
        .orderBy(sf.desc("count"))
        .limit(100)
    )


def _row_counts(bronze: Bronze, silver: Mapping[str, Silver]) -> list[dict[str, Any]]:
    """Rows by table, good or not, execution and group: {table, good, cell, repeat, group, n}.

    Raises unless bronze = silver + quarantined for every table.
    """
    read = [t for t in bronze.tables() if bronze.segments[t.name]]
    counted = reduce(DataFrame.unionByName, [silver[t.name].counted() for t in read])
    key = ("table", "good", "cell", "repeat", "group")
    row_counts: list[dict[str, Any]] = counted.groupBy(*key).agg(sf.count("*").alias("n")).toArrow().to_pylist()
    check_counts({t.name: bronze.rows(t) for t in read}, row_counts)
    return row_counts


def check_counts(bronze_rows: Mapping[str, int], layers: list[dict[str, Any]]) -> None:
    """Raise unless for every table the rows of its files are all in silver or in quarantine."""
    found = dict.fromkeys(bronze_rows, 0)
    for row in layers:
        found[row["table"]] += row["n"]
    wrong = [
        f"{t}: {bronze_rows[t]} rows in files, {n} after checking" for t, n in found.items() if n != bronze_rows[t]
    ]
    if wrong:
        raise MeasurementError("evidence changed while it was read: " + "; ".join(wrong), hint="analyze the run again")
