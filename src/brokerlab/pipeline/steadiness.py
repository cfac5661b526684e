"""steadiness: is one number for the measure phase honest?

Series of whole seconds: messages sent, messages received, and the natural logarithm of each second's p99. For the
logarithms a difference is already relative, so spread and slope are not divided by the mean.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from brokerlab.model.metrics import LATENCIES
from brokerlab.pipeline.rates import measured_seconds
from brokerlab.pipeline.schema import declared
from brokerlab.results.tables import LOG_P99, STEADINESS

FEWEST_SECONDS = 5
TREND_LIMIT = 0.10  # change over the whole phase, relative, that counts as warming or slowing
TREND_LIMIT_LOG = 0.69  # p99 halved or doubled over the phase
VARIATION_LIMIT = 0.25
VARIATION_LIMIT_LOG = 1.0
# A trend must also stand out of the noise, by three standard errors of a line through many points. Through few it must
# by more: Student's t of the same chance, whose expansion in 1 / (points - 2) this is. Five points need 8.5.
STANDARD_ERRORS = (3.0, 7.5, 17.25, 30.1875)
SHIFT_LIMIT = 0.05
SHIFT_LIMIT_LOG = 0.2
CUSUM_LIMIT = 1.36  # 95th percentile of the largest excursion of a Brownian bridge (Kolmogorov)
DECIMALS = 9  # sums of doubles depend on the order of rows in their last digits; files must not
_SERIES = ("cell", "repeat", "series")


def steadiness(rates: DataFrame, latency: DataFrame) -> DataFrame:
    """One row per series. `rates` is rate_per_second, `latency` is latency_per_second (worst group of each second)."""
    per_series = _shape(_walked(_points(rates, latency)))
    is_log = sf.col("series").endswith(LOG_P99)
    scale = sf.when(is_log, sf.lit(1.0)).otherwise(sf.abs("mean"))
    relative = {
        name: sf.when(scale > 0, sf.col(name) / scale).otherwise(sf.lit(0.0)) for name in ("deviation", "slope")
    }
    scaled = per_series.select(
        *_SERIES, "seconds", "mean", "noise", "cusum", "shift", "shift_second", is_log.alias("is_log"),
        scale.alias("scale"), relative["deviation"].alias("variation"),
        (relative["slope"] * 60).alias("slope_per_minute"),
    )  # fmt: skip
    shift_limit = sf.when(sf.col("is_log"), sf.lit(SHIFT_LIMIT_LOG)).otherwise(sf.lit(SHIFT_LIMIT))
    stands_out = (sf.col("cusum") > CUSUM_LIMIT) & (sf.abs("shift") > shift_limit * sf.col("scale"))
    change = sf.when(stands_out, sf.col("shift_second")).otherwise(sf.lit(-1))
    labelled = _labelled(scaled.withColumn("change_second", change))
    rounded = {name: sf.round(name, DECIMALS) for name in ("mean", "variation", "slope_per_minute")}
    return declared(labelled.withColumns(rounded), STEADINESS)


def _points(rates: DataFrame, latency: DataFrame) -> DataFrame:
    """(cell, repeat, series, second_unix_s, x) for the whole seconds of the measure phase.

    A second in which no agent wrote anything is a second with zero messages; a second without samples has no p99.
    """
    bounds = measured_seconds(rates)
    key = ("cell", "repeat", "second_unix_s")
    measured = bounds.select("cell", "repeat", sf.explode(sf.sequence("first_measured", "last_measured")).alias(key[2]))
    count = sf.when(sf.col("role") == "producer", sf.col("sent")).otherwise(sf.col("received"))
    name = sf.when(sf.col("role") == "producer", sf.lit("sent")).otherwise(sf.lit("received"))
    counted = (
        rates.select(*key, name.alias("series"), count.alias("x"))
        .groupBy(*key, "series")
        .agg(sf.sum("x").cast("double").alias("x"))
    )
    wanted = measured.join(sf.broadcast(counted.select(*_SERIES).distinct()), ["cell", "repeat"])
    counts = wanted.join(sf.broadcast(counted), [*key, "series"], "left").na.fill(0.0, ["x"])
    worst = latency.where(sf.col("measure").isin(*LATENCIES) & (sf.col("p99_ns") > 0)).groupBy(*key, "measure")
    logs = worst.agg(sf.log(sf.max("p99_ns")).alias("x")).withColumn("series", sf.concat("measure", sf.lit(LOG_P99)))
    columns = (*_SERIES, "second_unix_s", "x")
    return counts.select(*columns).unionByName(logs.join(sf.broadcast(measured), list(key)).select(*columns))


def _walked(points: DataFrame) -> DataFrame:
    """Each point with its place in the series: seconds since the first, and the sum and number of points up to it."""
    all_of = Window.partitionBy(*_SERIES)
    along = all_of.orderBy("second_unix_s")
    up_to = along.rowsBetween(Window.unboundedPreceding, 0)
    # From the series' first second: squares of UNIX seconds would eat the digits that count.
    elapsed_s = (sf.col("second_unix_s") - sf.min("second_unix_s").over(all_of)).cast("double")
    return points.select(
        *_SERIES, "x", elapsed_s.alias("elapsed_s"), sf.lead("second_unix_s").over(along).alias("next_second"),
        sf.sum("x").over(up_to).alias("before"), sf.count("x").over(up_to).alias("k"),
        sf.sum("x").over(all_of).alias("all"), sf.count("x").over(all_of).alias("n"),
        sf.coalesce(sf.stddev_samp("x").over(all_of), sf.lit(0.0)).alias("deviation"),
    )  # fmt: skip


def _shape(walked: DataFrame) -> DataFrame:
    """One row per series: mean, deviation, slope per second, noise around the line, and the best place for one change.

    That place is where the running sum of deviations from the mean is farthest from zero: `shift_second` is the first
    second after it, `shift` the mean after minus the mean before, `cusum` the excursion / (deviation x sqrt(n)).
    """
    rest = sf.col("n") - sf.col("k")
    shift = sf.when(rest > 0, (sf.col("all") - sf.col("before")) / rest - sf.col("before") / sf.col("k"))
    away = sf.abs(sf.col("before") - sf.col("all") * sf.col("k") / sf.col("n"))
    cusum = sf.when(sf.col("deviation") > 0, away / (sf.col("deviation") * sf.sqrt("n"))).otherwise(sf.lit(0.0))
    shape = walked.groupBy(*_SERIES).agg(
        sf.count("x").alias("seconds"),
        sf.avg("x").alias("mean"),
        sf.first("deviation").alias("deviation"),
        sf.coalesce(sf.regr_slope("x", "elapsed_s"), sf.lit(0.0)).alias("slope"),
        sf.coalesce(sf.regr_r2("x", "elapsed_s"), sf.lit(0.0)).alias("explained"),
        sf.max(sf.struct(cusum.alias("cusum"), sf.col("next_second"), shift.alias("shift"))).alias("found"),
    )
    unexplained = sf.greatest(1 - sf.col("explained"), sf.lit(0.0)) * (sf.col("seconds") - 1) / _freedom()
    noise = sf.col("deviation") * sf.sqrt(unexplained)
    return shape.select(
        *_SERIES, "seconds", "mean", "deviation", "slope", noise.alias("noise"),
        sf.coalesce("found.next_second", sf.lit(-1)).alias("shift_second"),
        sf.coalesce("found.shift", sf.lit(0.0)).alias("shift"), sf.col("found.cusum").alias("cusum"),
    )  # fmt: skip


def _freedom() -> Column:
    """What is left of the points' freedom by a line through them."""
    return sf.greatest(sf.col("seconds") - 2, sf.lit(1))


def _labelled(shape: DataFrame) -> DataFrame:
    """short, warming, slowing, none or flat. A rate that rises and a latency that falls are both warming."""
    trend = sf.col("slope_per_minute") * sf.col("seconds") / 60
    noise = sf.when(sf.col("scale") > 0, sf.col("noise") / sf.col("scale")).otherwise(sf.lit(0.0))
    error = noise * sf.sqrt(sf.lit(12.0) / sf.col("seconds"))  # of a least-squares line's rise over its whole length
    trend_limit = sf.when(sf.col("is_log"), sf.lit(TREND_LIMIT_LOG)).otherwise(sf.lit(TREND_LIMIT))
    least = sum((sf.lit(part) / _freedom() ** power for power, part in enumerate(STANDARD_ERRORS)), sf.lit(0.0))
    drifts = (sf.abs(trend) > trend_limit) & (sf.abs(trend) > least * error)
    chance = sf.when(sf.col("scale") > 0, 2.0 / sf.sqrt("scale")).otherwise(sf.lit(0.0))  # counts scatter by themselves
    variation_limit = sf.when(sf.col("is_log"), sf.lit(VARIATION_LIMIT_LOG)).otherwise(VARIATION_LIMIT + chance)
    label = (
        sf.when(sf.col("seconds") < FEWEST_SECONDS, sf.lit("short"))
        .when(drifts & ((trend > 0) == ~sf.col("is_log")), sf.lit("warming"))
        .when(drifts, sf.lit("slowing"))
        .when(sf.col("variation") > variation_limit, sf.lit("none"))
        .otherwise(sf.lit("flat"))
    )
    return shape.withColumn("label", label)
