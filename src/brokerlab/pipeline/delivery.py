"""delivery and lost_range, from ranges alone: sequence runs that arrived and ranges of outcomes. No message rows.

Every range is two points of its lane, +1 at its first number and -1 behind its last. Between two neighbouring points
nothing changes, so running sums over the points say for each stretch of numbers how often it was sent, acknowledged
and received; counting is then a matter of lengths. The cost grows with the number of ranges, not of messages.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from brokerlab.evidence.tables import ACTIVITY, OUTCOME, SEQUENCE
from brokerlab.pipeline.schema import declared
from brokerlab.results.tables import DELIVERY, LOST_RANGE

LANE = ("cell", "repeat", "group", "producer", "partition")
SENT_AS = ("sent", "acknowledged", "rejected", "unknown")
MOST_RANGES = 1000
NO_GROUP = ""  # the row of a cell without consumers
_KEY = ("cell", "repeat", "group")


def stretches(sequence: DataFrame, outcome: DataFrame, executions: DataFrame) -> DataFrame:
    """(LANE, first, last, received, became): maximal stretches of numbers with one fate, per group.

    `executions` has (cell, repeat, group, whole, drained), one row for each group that is to be accounted for; `whole`
    says that no evidence is missing. `received` is how often a number arrived. `became` is acknowledged, rejected,
    unknown or "" (never sent). A send that was never settled is unknown. Acknowledged beats rejected beats unknown: an
    acknowledgement that comes after a timeout is still one. Where evidence is missing, what arrived must have been
    sent, so it is unknown instead of never sent.
    """
    groups = executions.select(*_KEY, "whole")
    sends = declared(outcome, OUTCOME).join(sf.broadcast(groups.drop("whole")), ["cell", "repeat"])
    arrivals = declared(sequence, SEQUENCE).withColumn("outcome", sf.lit("received"))
    ranges = sends.select(*LANE, "first", "last", "outcome").unionByName(
        arrivals.select(*LANE, "first", "last", "outcome")
    )
    kinds = (*SENT_AS, "received")
    points = _points(ranges)
    summed = points.groupBy(*LANE, "at").agg(
        *[sf.sum(sf.when(sf.col("outcome") == k, sf.col("step")).otherwise(sf.lit(0))).alias(k) for k in kinds]
    )
    along = Window.partitionBy(*LANE).orderBy("at")
    running = summed.select(
        *LANE, sf.col("at").alias("first"), (sf.lead("at").over(along) - 1).alias("last"),
        *[sf.sum(k).over(along.rowsBetween(Window.unboundedPreceding, 0)).alias(k) for k in kinds],
    ).where(sf.col("last").isNotNull())  # fmt: skip
    known = running.join(sf.broadcast(groups), list(_KEY))
    became = (
        sf.when(sf.col("acknowledged") > 0, sf.lit("acknowledged"))
        .when(sf.col("rejected") > 0, sf.lit("rejected"))
        .when((sf.col("unknown") > 0) | (sf.col("sent") > 0), sf.lit("unknown"))
        .when(~sf.col("whole") & (sf.col("received") > 0), sf.lit("unknown"))
        .otherwise(sf.lit(""))
    )
    return known.select(*LANE, "first", "last", "received", became.alias("became"))


def _points(ranges: DataFrame) -> DataFrame:
    begin = sf.struct(sf.col("first").alias("at"), sf.lit(1).cast("long").alias("step"))
    end = sf.struct((sf.col("last") + 1).alias("at"), sf.lit(-1).cast("long").alias("step"))
    both = ranges.select(*LANE, "outcome", sf.explode(sf.array(begin, end)).alias("point"))
    return both.select(*LANE, "outcome", "point.at", "point.step")


def reordered(sequence: DataFrame) -> DataFrame:
    """(cell, repeat, group, reordered): messages that first arrived after a later one of their lane.

    Within one consumer, epoch and lane: a number that raises the highest seen so far arrives in order, and can do so
    only at its first arrival. So the late ones are all different numbers minus those that raised the mark. Repeats fall
    out by themselves; runs the broker marked as redelivered throughout are left out.
    """
    place = (*LANE, "consumer", "epoch")
    first_time = sf.col("redelivered") < sf.col("last") - sf.col("first") + 1
    runs = declared(sequence, SEQUENCE).where(first_time)
    counted = runs.select(
        *place, _new_numbers(place, "ordinal").alias("in_order"), _new_numbers(place, "first").alias("different")
    )
    return counted.groupBy(*_KEY).agg((sf.sum("different") - sf.sum("in_order")).alias("reordered"))


def _new_numbers(place: tuple[str, ...], order: str) -> Column:
    """How many numbers of a run lie above every run before it, in the given order."""
    before = Window.partitionBy(*place).orderBy(order, "last").rowsBetween(Window.unboundedPreceding, -1)
    mark = sf.coalesce(sf.max("last").over(before), sf.lit(-1).cast("long"))
    return sf.greatest(sf.col("last") - sf.greatest(sf.col("first"), mark + 1) + 1, sf.lit(0).cast("long"))


def delivery(stretches: DataFrame, sequence: DataFrame, activity: DataFrame, executions: DataFrame) -> DataFrame:
    """One row per row of `executions` (see `stretches`)."""
    counts = _counts(stretches)
    marked = declared(sequence, SEQUENCE).groupBy(*_KEY).agg(sf.sum("redelivered").alias("redelivered"))
    strange = (
        declared(activity, ACTIVITY)
        .where(sf.col("role") == "consumer")
        .groupBy(*_KEY)
        .agg(sf.sum("corrupted").alias("corrupted"), sf.sum("unexpected").alias("strange"))
    )
    parts = [counts, marked, reordered(sequence), strange]
    joined = reduce(lambda left, right: left.join(sf.broadcast(right), list(_KEY), "left"), parts, executions)
    names = [c.name for c in DELIVERY.columns if c.type == "long" and c.name != "unexpected"]
    filled = joined.na.fill(0, ["strange", "never_sent", *names])
    for name in ("lost", "unknown_absent"):  # nobody was there to receive: nothing can be said to be missing
        filled = filled.withColumn(name, sf.when(sf.col("group") != NO_GROUP, sf.col(name)).otherwise(sf.lit(0)))
    return declared(filled.withColumn("unexpected", sf.col("never_sent") + sf.col("strange")), DELIVERY)


def _counts(stretches: DataFrame) -> DataFrame:
    length = sf.col("last") - sf.col("first") + 1
    arrived, sent = sf.col("received") > 0, sf.col("became") != ""

    def total(condition: Column, of: Column = length) -> Column:
        return sf.sum(sf.when(condition, of).otherwise(sf.lit(0).cast("long")))

    def became(word: str) -> Column:
        return sf.col("became") == word

    return stretches.groupBy(*_KEY).agg(
        total(sent).alias("sent"),
        total(became("acknowledged")).alias("acknowledged"),
        total(became("rejected")).alias("rejected"),
        total(became("unknown")).alias("unknown"),
        total(arrived, length * sf.col("received")).alias("received"),
        total(arrived & sent).alias("delivered"),
        total(became("acknowledged") & ~arrived).alias("lost"),
        total(arrived & sent, length * (sf.col("received") - 1)).alias("duplicated"),
        total(became("unknown") & arrived).alias("recovered"),
        total(became("unknown") & ~arrived).alias("unknown_absent"),
        total(became("rejected") & arrived).alias("aborted_read"),
        total(arrived & ~sent, length * sf.col("received")).alias("never_sent"),
    )


def lost_range(stretches: DataFrame) -> DataFrame:
    """Acknowledged and never received, neighbouring stretches joined, the first 1000 of each repeat and group."""
    absent = (sf.col("became") == "acknowledged") & (sf.col("received") == 0)
    gone = stretches.where(absent & (sf.col("group") != NO_GROUP))
    along = Window.partitionBy(*LANE).orderBy("first")
    starts = sf.when(sf.lag("last").over(along) + 1 == sf.col("first"), sf.lit(0)).otherwise(sf.lit(1))
    island = gone.withColumn("starts", starts).withColumn("island", sf.sum("starts").over(along))
    ranges = island.groupBy(*LANE, "island").agg(sf.min("first").alias("first"), sf.max("last").alias("last"))
    number = sf.row_number().over(Window.partitionBy(*_KEY).orderBy("producer", "partition", "first"))
    return declared(ranges.withColumn("number", number).where(sf.col("number") <= MOST_RANGES), LOST_RANGE)
