"""reading_per_second: figures of host, processes and brokers on the same seconds as the load."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from brokerlab.evidence.tables import READING
from brokerlab.model.plan import Phase
from brokerlab.pipeline.schema import declared
from brokerlab.results.tables import READING_PER_SECOND

DECIMALS = 9  # the mean of a second must not depend on the order of its rows
_SERIES = ("cell", "repeat", "subject", "metric", "unit")


def reading_per_second(reading: DataFrame, rates: DataFrame) -> DataFrame:
    """Gauges as the mean of the second; counters (`..._total`) as increase / time since the reading before.

    A counter that falls has been restarted: that step is left out. `rates` is rate_per_second, which says when phases
    began; readings before the measure phase count as warm-up, those after it as drain.
    """
    rows = declared(reading, READING)
    counter = sf.col("metric").endswith("_total")
    seconds = (
        rows.where(~counter).select(*_SERIES, "second_unix_s", "value").unionByName(_increases(rows.where(counter)))
    )
    means = seconds.groupBy(*_SERIES, "second_unix_s").agg(sf.round(sf.avg("value"), DECIMALS).alias("value"))
    measured = rates.where(sf.col("phase") == Phase.MEASURE.value).groupBy("cell", "repeat")
    bounds = measured.agg(sf.min("second_unix_s").alias("begin"), sf.max("second_unix_s").alias("end"))
    phase = (
        sf.when(sf.col("second_unix_s") > sf.col("end"), sf.lit(Phase.DRAIN.value))
        .when(sf.col("second_unix_s") >= sf.col("begin"), sf.lit(Phase.MEASURE.value))
        .otherwise(sf.lit(Phase.WARM_UP.value))
    )
    joined = means.join(sf.broadcast(bounds), ["cell", "repeat"], "left").withColumn("phase", phase)
    return declared(joined, READING_PER_SECOND)


def _increases(counters: DataFrame) -> DataFrame:
    """The counters' readings as rates, renamed ..._total -> ..._per_s, unit u -> u/s."""
    along = Window.partitionBy(*_SERIES).orderBy("at_mono_ns")
    elapsed_s = (sf.col("at_mono_ns") - sf.lag("at_mono_ns").over(along)) / 1e9
    steps = counters.withColumn("step", sf.col("value") - sf.lag("value").over(along)).withColumn(
        "elapsed_s", elapsed_s
    )
    return steps.where((sf.col("step") >= 0) & (sf.col("elapsed_s") > 0)).select(
        "cell", "repeat", "subject",
        sf.regexp_replace("metric", "_total$", "_per_s").alias("metric"),
        sf.concat("unit", sf.lit("/s")).alias("unit"),
        "second_unix_s",
        (sf.col("step") / sf.col("elapsed_s")).alias("value"),
    )  # fmt: skip
