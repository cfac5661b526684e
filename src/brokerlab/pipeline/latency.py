"""Latency tables, all from histograms merged by adding counts: exact, deterministic, in any order."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from brokerlab.evidence.tables import INTERVAL, MEASURES
from brokerlab.model.histogram import SUB_BUCKET_BITS
from brokerlab.pipeline.schema import declared
from brokerlab.results.tables import LATENCY_HEAT, LATENCY_HISTOGRAM, LATENCY_PER_PHASE, LATENCY_PER_SECOND

QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p95_ns": 0.95, "p99_ns": 0.99, "p999_ns": 0.999, "p9999_ns": 0.9999}
SECOND_KEY = ("cell", "repeat", "second_unix_s", "phase", "measure", "group")
PHASE_KEY = ("cell", "repeat", "phase", "measure", "group")
BAND_BITS = 2  # four bands per octave
ALL_REPEATS = 0


def samples(interval: DataFrame) -> DataFrame:
    """interval with its three histograms one below the other: agent, SECOND_KEY, bucket[], count[], and their sums.

    An interval row has one `negative` counter: it belongs to end_to_end_latency of a consumer and to publish_latency
    of a producer.
    """
    rows = declared(interval, INTERVAL)
    return reduce(DataFrame.unionByName, [_of_measure(rows, measure) for measure in MEASURES])


def _of_measure(rows: DataFrame, measure: str) -> DataFrame:
    counts_negatives = {"publish_latency": "producer", "end_to_end_latency": "consumer"}.get(measure, "")
    n = sf.aggregate(f"{measure}_count", sf.lit(0).cast("long"), lambda total, x: total + x)
    made = rows.select(
        "agent", "cell", "repeat", "second_unix_s", "phase", sf.lit(measure).alias("measure"), "group",
        sf.col(f"{measure}_bucket").alias("bucket"), sf.col(f"{measure}_count").alias("count"), n.alias("n"),
        sf.when(sf.col("role") == counts_negatives, sf.col("negative")).otherwise(sf.lit(0)).alias("negative"),
        sf.when(n > 0, sf.col(f"{measure}_min_ns")).alias("min_ns"),
        sf.when(n > 0, sf.col(f"{measure}_max_ns")).alias("max_ns"),
        sf.col(f"{measure}_sum_ns").alias("sum_ns"),
    )  # fmt: skip
    return made.where((sf.col("n") > 0) | (sf.col("negative") > 0))


def merged(samples: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """(key, bucket, count): the histograms of `samples` added up; one row per bucket with a count."""
    pairs = samples.select(*key, sf.explode(sf.arrays_zip("bucket", "count")).alias("pair"))
    cells = pairs.select(*key, sf.col("pair.bucket").alias("bucket"), sf.col("pair.count").alias("count"))
    return cells.where(sf.col("count") > 0).groupBy(*key, "bucket").agg(sf.sum("count").alias("count"))


def totals(samples: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """(key, count, negative, min_ns, max_ns, mean_ns) of `samples`."""
    summed = samples.groupBy(*key).agg(
        sf.sum("n").alias("count"),
        sf.sum("negative").alias("negative"),
        sf.coalesce(sf.min("min_ns"), sf.lit(0)).alias("min_ns"),
        sf.coalesce(sf.max("max_ns"), sf.lit(0)).alias("max_ns"),
        sf.sum("sum_ns").alias("sum_ns"),
    )
    mean = sf.when(sf.col("count") > 0, sf.col("sum_ns") / sf.col("count")).otherwise(sf.lit(0.0))
    return summed.withColumn("mean_ns", mean).drop("sum_ns")


def quantiles(merged: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """(key, p50_ns, ...): the upper bound of the bucket that holds the sample of rank ceil(q x count)."""
    up_to = Window.partitionBy(*key).orderBy("bucket").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    all_of = Window.partitionBy(*key)
    ranked = merged.withColumn("upto", sf.sum("count").over(up_to)).withColumn("n", sf.sum("count").over(all_of))
    chosen = [
        sf.min(
            sf.when(sf.col("upto") >= sf.greatest(sf.ceil(q * sf.col("n") - 1e-9), sf.lit(1)), sf.col("bucket"))
        ).alias(name)
        for name, q in QUANTILES.items()
    ]
    buckets = ranked.groupBy(*key).agg(*chosen)
    return buckets.select(*key, *[upper_bound_ns(sf.col(name)).alias(name) for name in QUANTILES])


def lower_bound_ns(bucket: Column) -> Column:
    """Smallest value of a bucket; model.histogram says why."""
    wide = bucket.cast("long")
    shift = sf.greatest(sf.shiftright(wide, SUB_BUCKET_BITS) - 1, sf.lit(0))
    rest = wide - shift * (1 << SUB_BUCKET_BITS)
    return rest * sf.pow(sf.lit(2.0), shift).cast("long")  # shiftleft takes no column; 2^34 is exact in a double


def upper_bound_ns(bucket: Column) -> Column:
    return lower_bound_ns(bucket + 1) - 1


def latency_per_second(samples: DataFrame, per_second: DataFrame) -> DataFrame:
    """`per_second` is merged(samples, SECOND_KEY)."""
    joined = totals(samples, SECOND_KEY).join(quantiles(per_second, SECOND_KEY), list(SECOND_KEY), "inner")
    return declared(joined, LATENCY_PER_SECOND)


def with_all_repeats(frame: DataFrame) -> DataFrame:
    """`frame` and a copy of it as repeat 0, which stands for all repeats of a cell together."""
    return frame.unionByName(frame.withColumn("repeat", sf.lit(ALL_REPEATS)))


def with_all_repeats_merged(per_second: DataFrame) -> DataFrame:
    """(PHASE_KEY, bucket, count) from `per_second`, each repeat by itself and, as repeat 0, all of them together."""
    per_phase = per_second.groupBy(*PHASE_KEY, "bucket").agg(sf.sum("count").alias("count"))
    return with_all_repeats(per_phase).groupBy(*PHASE_KEY, "bucket").agg(sf.sum("count").alias("count"))


def latency_per_phase(samples: DataFrame, per_phase: DataFrame) -> DataFrame:
    """`per_phase` is with_all_repeats_merged. Only-negative samples leave quantiles of 0."""
    sums = totals(with_all_repeats(samples.drop("bucket", "count")), PHASE_KEY)
    joined = sums.join(quantiles(per_phase, PHASE_KEY), list(PHASE_KEY), "left").na.fill(0, list(QUANTILES))
    return declared(joined, LATENCY_PER_PHASE)


def latency_histogram(per_phase: DataFrame) -> DataFrame:
    """The buckets of `per_phase` as two arrays in ascending order."""
    packed = per_phase.groupBy(*PHASE_KEY).agg(
        sf.array_sort(sf.collect_list(sf.struct("bucket", "count"))).alias("pairs"),
    )
    arrays = packed.select(
        *PHASE_KEY, sf.col("pairs.bucket").alias("bucket"), sf.col("pairs.count").alias("count"),
        sf.lit(SUB_BUCKET_BITS).alias("sub_bucket_bits"),
    )  # fmt: skip
    return declared(arrays, LATENCY_HISTOGRAM)


def latency_heat(per_second: DataFrame) -> DataFrame:
    """Coarse bands for a heat map. Bounds come from the band's first and last fine bucket."""
    coarse = SUB_BUCKET_BITS - BAND_BITS
    banded = per_second.withColumn("band", sf.shiftright("bucket", coarse))
    summed = banded.groupBy(*SECOND_KEY, "band").agg(sf.sum("count").alias("count"))
    first, after = sf.col("band") * (1 << coarse), (sf.col("band") + 1) * (1 << coarse)
    bounded = summed.withColumn("lower_ns", lower_bound_ns(first)).withColumn("upper_ns", lower_bound_ns(after) - 1)
    return declared(bounded, LATENCY_HEAT)
