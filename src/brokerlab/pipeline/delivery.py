"""delivery and lost_range, from ranges alone: sequence runs that arrived and ranges of outcomes. No message rows.

Every lane is accounted for by itself, in numpy (pipeline.lane). Its ranges are packed into arrays where they are read,
so only a handful of rows move between Spark's tasks and none of the ranges is sorted there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from brokerlab.evidence.tables import ACTIVITY, OUTCOME, SEQUENCE
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Column, Table
from brokerlab.pipeline.lane import COUNTS, KINDS, LOST_RANGES, MOST_RANGES, RANGE, Ranges, account
from brokerlab.pipeline.schema import declared, spark_schema
from brokerlab.results.tables import DELIVERY, LOST_RANGE, NO_GROUP

_KEY = ("cell", "repeat", "group")
_OF_ARRIVALS = ("consumer", "epoch", "ordinal", "redelivered")
_LANE_COLUMNS = tuple(
    next(c for c in LOST_RANGE.columns if c.name == name) for name in (*_KEY, "producer", "partition")
)
LANE = tuple(c.name for c in _LANE_COLUMNS)

PACKED = Table(
    "packed_ranges",
    "Ranges of one lane, as many as were read together.",
    (*_LANE_COLUMNS, *(Column(name, "array<long>", "", "see lane.Ranges") for name in RANGE)),
)
LANE_ACCOUNT = Table(
    "lane_account",
    "What became of the messages of one lane.",
    (
        *_LANE_COLUMNS,
        *(Column(name, "long", "1", "see lane.LaneAccount") for name in COUNTS),
        *(Column(name, "array<long>", "1", "see lane.LaneAccount") for name in LOST_RANGES),
    ),
)


def lanes(sequence: DataFrame, outcome: DataFrame, executions: DataFrame) -> DataFrame:
    """Rows of LANE_ACCOUNT.

    `executions` has (cell, repeat, group, whole, drained), one row for each group that is to be accounted for; `whole`
    says that no evidence is missing. What was sent is accounted for once per group, as each is to receive all of it.
    """
    groups = executions.select(*_KEY, "whole")
    sends = declared(outcome, OUTCOME).join(sf.broadcast(groups.drop("whole")), ["cell", "repeat"])
    kind = sf.array_position(sf.array(*[sf.lit(k) for k in KINDS]), sf.col("outcome")) - 1
    nothing = {name: sf.lit(0) for name in _OF_ARRIVALS}
    arrivals = declared(sequence, SEQUENCE)
    ranges = _ranges(sends, kind, nothing).unionByName(
        _ranges(arrivals, sf.lit(KINDS.index("received")), {name: sf.col(name) for name in _OF_ARRIVALS})
    )
    packed = ranges.mapInArrow(_packed, spark_schema(PACKED))
    return (
        packed.join(sf.broadcast(groups), list(_KEY))
        .groupBy(*LANE)
        .applyInArrow(_accounted, spark_schema(LANE_ACCOUNT))
    )


def _ranges(rows: DataFrame, kind: SparkColumn, others: dict[str, SparkColumn]) -> DataFrame:
    columns = {"kind": kind, "first": sf.col("first"), "last": sf.col("last"), **others}
    return rows.select(*LANE, *[columns[name].cast("long").alias(name) for name in RANGE])


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of PACKED from single ranges, batch by batch."""
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        grouped = rows.group_by(list(LANE), use_threads=False).aggregate([(name, "list") for name in RANGE])
        renamed = grouped.select([*LANE, *[f"{name}_list" for name in RANGE]]).rename_columns([*LANE, *RANGE])
        yield from renamed.to_batches()


def _accounted(rows: pa.Table) -> pa.Table:
    """One row of LANE_ACCOUNT from all rows of PACKED of a lane, which also say whether its evidence is `whole`."""
    found = account(Ranges.of(rows), whole=rows["whole"][0].as_py())
    lane = {name: rows[name][0].as_py() for name in LANE}
    return pa.Table.from_pylist([lane | asdict(found)], arrow_schema(LANE_ACCOUNT).remove_metadata())


def delivery(lanes: DataFrame, activity: DataFrame, executions: DataFrame) -> DataFrame:
    """One row per row of `executions` (see `lanes`)."""
    counts = lanes.groupBy(*_KEY).agg(*[sf.sum(name).alias(name) for name in COUNTS])
    strange = (
        declared(activity, ACTIVITY)
        .where(sf.col("role") == "consumer")
        .groupBy(*_KEY)
        .agg(sf.sum("corrupted").alias("corrupted"), sf.sum("unexpected").alias("strange"))
    )
    joined = executions.join(sf.broadcast(counts), list(_KEY), "left").join(sf.broadcast(strange), list(_KEY), "left")
    filled = joined.na.fill(0, [*COUNTS, "corrupted", "strange"])
    for name in ("lost", "unknown_absent"):  # without consumers nothing can be called missing
        filled = filled.withColumn(name, sf.when(sf.col("group") != NO_GROUP, sf.col(name)).otherwise(sf.lit(0)))
    return declared(filled.withColumn("unexpected", sf.col("never_sent") + sf.col("strange")), DELIVERY)


def lost_range(lanes: DataFrame) -> DataFrame:
    """Acknowledged and never received: the first MOST_RANGES ranges of each repeat and group."""
    pairs = lanes.where(sf.col("group") != NO_GROUP).select(
        *LANE, sf.explode(sf.arrays_zip(*LOST_RANGES)).alias("lost")
    )
    ranges = pairs.select(*LANE, sf.col("lost.lost_first").alias("first"), sf.col("lost.lost_last").alias("last"))
    number = sf.row_number().over(Window.partitionBy(*_KEY).orderBy("producer", "partition", "first"))
    return declared(ranges.withColumn("number", number).where(sf.col("number") <= MOST_RANGES), LOST_RANGE)
