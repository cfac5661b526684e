"""rate_per_second, and which seconds count as measured."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from brokerlab.evidence.tables import ACTIVITY, INTERVAL
from brokerlab.model.plan import Phase
from brokerlab.pipeline.schema import declared
from brokerlab.results.tables import RATE_PER_SECOND

PHASES = [p.value for p in Phase]
_COUNTERS = ("sent", "acknowledged", "rejected", "unknown", "received", "bytes", "buffer_full")


def rate_per_second(activity: DataFrame, interval: DataFrame) -> DataFrame:
    """One row per (cell, repeat, second, role, group). `due` comes from interval, the rest from activity.

    A second in which a phase begins has messages of both; it gets the phase at its start, which is the earlier one.
    """
    keys = ("cell", "repeat", "second_unix_s", "role", "group")
    done = declared(activity, ACTIVITY).select(
        *keys, phase_number("phase").alias("at_start"), sf.lit(None).cast("int").alias("scheduled_in"),
        sf.lit(0).cast("long").alias("due"), *_COUNTERS,
    )  # fmt: skip
    scheduled = declared(interval, INTERVAL).select(
        *keys, sf.lit(None).cast("int").alias("at_start"), phase_number("phase").alias("scheduled_in"),
        "due", *[sf.lit(0).cast("long").alias(c) for c in _COUNTERS],
    )  # fmt: skip
    summed = (
        done.unionByName(scheduled)
        .groupBy(*keys)
        .agg(
            sf.coalesce(sf.min("at_start"), sf.min("scheduled_in")).alias("number"),
            *[sf.sum(c).alias(c) for c in ("due", *_COUNTERS)],
        )
    )
    return declared(summed.withColumn("phase", phase_name("number")), RATE_PER_SECOND)


def phase_number(name: str) -> Column:
    """0, 1, 2 for warm_up, measure, drain: phases in their order."""
    return sf.array_position(sf.array(*[sf.lit(p) for p in PHASES]), sf.col(name)).cast("int") - 1


def phase_name(number: str) -> Column:
    return sf.element_at(sf.array(*[sf.lit(p) for p in PHASES]), sf.col(number) + 1)


def measured_seconds(rates: DataFrame) -> DataFrame:
    """(cell, repeat, first_measured, last_measured): the whole seconds of the measure phase.

    A second is labelled with the phase at its start, so the last one labelled `measure` may run into the drain: it is
    left out. A phase of one second keeps it.
    """
    labelled = rates.where(sf.col("phase") == Phase.MEASURE.value).groupBy("cell", "repeat")
    bounds = labelled.agg(sf.min("second_unix_s").alias("first_measured"), sf.max("second_unix_s").alias("last"))
    return bounds.select(
        "cell", "repeat", "first_measured", sf.greatest("first_measured", sf.col("last") - 1).alias("last_measured")
    )
