"""Silver to gold: all tables of a run from checked evidence, in few Spark jobs.

Gold tables are bounded by seconds x series, never by messages, so they are brought to the driver as Arrow and written
there. Queries run side by side: on small data most of their time is planning, which uses one core each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from typing import Any

import pyarrow as pa
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

QUERIES_AT_ONCE = 3
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
        spark.catalog.clearCache()


def _make_gold(
    spark: SparkSession, bronze: Bronze, facts: Callable[..., list[ExecutionFacts]], planned: list[str]
) -> Gold:
    silver = {t.name: validated(read_bronze(spark, bronze, t), t, planned) for t in bronze.tables()}
    some_rejected = _reconcile(bronze, silver)
    rows = {name: s.rows for name, s in silver.items()}
    wanted: dict[str, Callable[[], pa.Table]] = {
        "groups": lambda: _groups(rows).toArrow(),
        "events": lambda: rows[EVENT.name].toArrow(),
    }
    if some_rejected:
        wanted["rejected"] = lambda: reduce(DataFrame.unionByName, [s.quarantined for s in silver.values()]).toArrow()
    if bronze.segments[ERROR.name]:
        wanted["errors"] = lambda: _errors(rows[ERROR.name]).toArrow()
    first = _collect(wanted.items())
    rejected = first.get("rejected", arrow_schema(result.QUARANTINED_ROW).empty_table())
    events = first["events"].to_pylist()
    executions = facts(groups=first["groups"].to_pylist(), events=events, rejected=rejected.to_pylist())
    made = _collect(chain(_outages(spark, rows, events), _tables(spark, rows, executions)))
    outages = made.pop(OUTAGES).to_pylist() if OUTAGES in made else []
    made[result.QUARANTINED_ROW.name] = _in_order(rejected, result.QUARANTINED_ROW)
    return Gold(made, events, first["errors"].to_pylist() if "errors" in first else [], executions, outages)


def _tables(
    spark: SparkSession, rows: Mapping[str, DataFrame], executions: list[ExecutionFacts]
) -> Iterator[tuple[str, Callable[[], pa.Table]]]:
    for table, frame in _frames(spark, rows, executions):
        yield table.name, _query(table, frame)


def _outages(
    spark: SparkSession, rows: Mapping[str, DataFrame], events: list[dict[str, Any]]
) -> Iterator[tuple[str, Callable[[], pa.Table]]]:
    struck = faults.struck(events)
    if struck and MESSAGE.name in rows:
        found = faults.outages(rows[MESSAGE.name], spark.createDataFrame(faults.struck_table(struck)))
        yield OUTAGES, found.toArrow


def _frames(
    spark: SparkSession, rows: Mapping[str, DataFrame], executions: list[ExecutionFacts]
) -> Iterator[tuple[Table, DataFrame]]:
    """The plan of every gold table, one by one: the first run while later ones are still being planned."""
    interval, activity, sequence = rows[INTERVAL.name], rows[ACTIVITY.name], rows[SEQUENCE.name]
    samples = latency.samples(interval).cache()
    per_second = latency.merged(samples, latency.SECOND_KEY).cache()
    of_second = latency.latency_per_second(samples, per_second).cache()
    yield result.LATENCY_PER_SECOND, of_second
    rate = rates.rate_per_second(activity, interval).cache()
    yield result.RATE_PER_SECOND, rate
    accounted = spark.createDataFrame(facts_table(executions))
    stretches = delivery.stretches(sequence, rows[OUTCOME.name], accounted).cache()
    yield result.DELIVERY, delivery.delivery(stretches, sequence, activity, accounted)
    yield result.LOST_RANGE, delivery.lost_range(stretches)
    per_phase = latency.with_all_repeats_merged(per_second).cache()
    yield result.LATENCY_PER_PHASE, latency.latency_per_phase(samples, per_phase)
    yield result.LATENCY_HISTOGRAM, latency.latency_histogram(per_phase)
    yield result.LATENCY_HEAT, latency.latency_heat(per_second)
    yield result.STEADINESS, steadiness.steadiness(rate, of_second)
    yield result.AGENT_HEALTH, agents.agent_health(activity, samples)
    yield result.READING_PER_SECOND, readings.reading_per_second(rows[READING.name], rate)


def _query(table: Table, frame: DataFrame) -> Callable[[], pa.Table]:
    return lambda: _in_order(frame.toArrow(), table)


def _in_order(found: pa.Table, table: Table) -> pa.Table:
    """Declared types, rows sorted by their names and numbers: the same evidence gives the same file."""
    keys = [(c.name, "ascending") for c in table.columns if c.type in ("string", "int", "long")]
    return found.select(list(table.names())).cast(arrow_schema(table)).sort_by(keys)


def _collect(queries: Iterable[tuple[str, Callable[[], pa.Table]]]) -> dict[str, pa.Table]:
    """Run each query as soon as it is there, a few at once."""
    with ThreadPoolExecutor(QUERIES_AT_ONCE) as pool:
        running = {name: pool.submit(query) for name, query in queries}
        return {name: future.result() for name, future in running.items()}


def _groups(rows: Mapping[str, DataFrame]) -> DataFrame:
    """(cell, repeat, group, agent) of every consumer that left evidence."""
    key = ("cell", "repeat", "group", "agent")
    consumers = rows[ACTIVITY.name].where(sf.col("role") == "consumer").select(*key)
    return consumers.unionByName(rows[SEQUENCE.name].select(*key)).distinct()


def _errors(errors: DataFrame) -> DataFrame:
    """The commonest errors of each execution by kind, a few only."""
    return (
        errors.groupBy("cell", "repeat", "kind")
        .agg(sf.sum("count").alias("count"), sf.first("text").alias("text"))
        .orderBy(sf.desc("count"))
        .limit(100)
    )


def _reconcile(bronze: Bronze, silver: Mapping[str, Silver]) -> bool:
    """Prove that bronze = silver + quarantined for every table (or raise); says whether anything was quarantined."""
    read = [t for t in bronze.tables() if bronze.segments[t.name]]
    counted = reduce(DataFrame.unionByName, [silver[t.name].counted() for t in read]).groupBy("table", "good").count()
    layers = [{"table": row["table"], "good": row["good"], "n": row["count"]} for row in counted.collect()]
    check_counts({t.name: bronze.rows(t) for t in read}, layers)
    return not all(layer["good"] for layer in layers)


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
