"""Latency tables, all from histograms merged by adding counts: exact, deterministic, in any order.

Histograms stay arrays in one row each and are added up in numpy (pipeline.merging): as rows of (bucket, count) they
would be hundreds of times as many, each with its key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from brokerlab.evidence.tables import AGENT, INTERVAL
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.histogram import SUB_BUCKET_BITS
from brokerlab.model.metrics import FROM_SCHEDULE, FROM_SEND, MEASURE_TABLE, Measure
from brokerlab.model.quantiles import SHARES
from brokerlab.model.tables import Column, Table
from brokerlab.pipeline.merging import Histograms, band_bounds_ns, bands, merge, quantiles_ns
from brokerlab.pipeline.schema import declared, spark_schema
from brokerlab.results.tables import LATENCY_HEAT, LATENCY_HISTOGRAM, LATENCY_PER_PHASE, LATENCY_PER_SECOND

SECOND_KEY = ("cell", "repeat", "second_unix_s", "phase", "measure", "group")
PHASE_KEY = ("cell", "repeat", "phase", "measure", "group")
_COLUMNS = {c.name: c for c in (*AGENT, *LATENCY_PER_SECOND.columns, *LATENCY_PER_PHASE.columns)}


def merged_table(key: tuple[str, ...]) -> Table:
    """What `merged` makes: a histogram and exact figures of the same samples; without any, `min_ns` and `max_ns` are null,
    so that they do not count when it is merged again."""
    columns = (
        Column("buckets", "array<int>", "1", "bucket numbers with a count, ascending"),
        Column("counts", "array<long>", "1", "samples in each of those buckets"),
        Column("sum_ns", "long", "ns", "sum of samples"),
    )
    figures = ("count", "negative", "min_ns", "max_ns", "mean_ns", *SHARES)
    names = (*key, *figures)
    known = (replace(_COLUMNS[name], nullable=name in ("min_ns", "max_ns")) for name in names)
    return Table("merged_latency", "Histograms added up by a key.", (*known, *columns))


def samples(interval: DataFrame) -> DataFrame:
    """interval with its histograms one below the other: agent, SECOND_KEY, buckets, counts, and exact sums.

    An interval row has one counter of negatives from the scheduled time and one from the hand-over: they belong to the
    end-to-end latency of a consumer and to the publish latency of a producer.
    """
    key = ("agent", "cell", "repeat", "second_unix_s", "phase", "group")
    below = sf.inline(sf.array(*[_of_measure(measure) for measure in MEASURE_TABLE]))  # one scan, not one per measure
    made = declared(interval, INTERVAL).select(*key, below)
    return made.where((sf.size("buckets") > 0) | (sf.col("negative") > 0))


def _of_measure(of: Measure) -> SparkColumn:
    measure, negative = of.key, "negative_from_send" if of.key in FROM_SEND else "negative"
    counts_negatives = {"acknowledged": "producer", "received": "consumer"}.get(of.ends, "")
    any_sample = sf.size(f"{measure}_bucket") > 0
    return sf.struct(
        sf.lit(measure).alias("measure"),
        sf.col(f"{measure}_bucket").alias("buckets"), sf.col(f"{measure}_count").alias("counts"),
        sf.when(sf.col("role") == counts_negatives, sf.col(negative)).otherwise(sf.lit(0)).alias("negative"),
        sf.when(any_sample, sf.col(f"{measure}_min_ns")).alias("min_ns"),
        sf.when(any_sample, sf.col(f"{measure}_max_ns")).alias("max_ns"),
        sf.col(f"{measure}_sum_ns").alias("sum_ns"),
    )  # fmt: skip


def merged(samples: DataFrame, key: tuple[str, ...], within: tuple[str, ...] | None = None) -> DataFrame:
    """Rows of merged_table(key) from rows of `samples` or of another merged table.

    One call of Python gets the rows of `within`, which has fewer columns than the key: a call for every second of
    every agent would be mostly calling.
    """
    rows = samples.select(*key, "buckets", "counts", "negative", "min_ns", "max_ns", "sum_ns")
    return rows.groupBy(*(within or key)).applyInArrow(merging(key), spark_schema(merged_table(key)))


def merging(key: tuple[str, ...]) -> Callable[[pa.Table], pa.Table]:
    """The function behind `merged`, on Arrow tables."""
    schema = arrow_schema(merged_table(key)).remove_metadata()

    def merge_rows(rows: pa.Table) -> pa.Table:
        numbered = rows.append_column("row", pa.array(np.arange(len(rows))))
        sums = [("negative", "sum"), ("min_ns", "min"), ("max_ns", "max"), ("sum_ns", "sum"), ("row", "list")]
        groups = numbered.group_by(list(key), use_threads=False).aggregate(sums)
        histograms = merge(*_histogram_columns(rows, groups["row_list"].combine_chunks()))
        count = np.diff(histograms.counted())
        total = groups["sum_ns_sum"].to_numpy()
        largest_ns = groups["max_ns_max"].fill_null(0).to_numpy()
        made = {
            **{name: groups[name] for name in key},
            "buckets": pa.ListArray.from_arrays(
                histograms.offsets.astype(np.int32), histograms.bucket.astype(np.int32)
            ),
            "counts": pa.ListArray.from_arrays(histograms.offsets.astype(np.int32), histograms.count),
            "count": count,
            "negative": groups["negative_sum"],
            "min_ns": groups["min_ns_min"],
            "max_ns": groups["max_ns_max"],
            "sum_ns": total,
            "mean_ns": np.where(count > 0, total / np.maximum(count, 1), 0.0),
            **{name: quantiles_ns(histograms, q, largest_ns) for name, q in SHARES.items()},
        }
        return pa.table({name: made[name] for name in schema.names}, schema)

    return merge_rows


def _histogram_columns(rows: pa.Table, members: pa.ListArray) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    """The arguments of merging.merge: group, number of groups, bucket and count of each bucket of each row.

    `members` are the rows of each group.
    """
    group = np.empty(len(rows), np.int64)
    group[members.flatten().to_numpy()] = np.repeat(np.arange(len(members)), members.value_lengths().to_numpy())
    buckets, counts = rows["buckets"].combine_chunks(), rows["counts"].combine_chunks()
    owner = np.repeat(group, buckets.value_lengths().to_numpy())
    return owner, len(members), buckets.flatten().to_numpy().astype(np.int64), counts.flatten().to_numpy()


def latency_per_second(per_second: DataFrame) -> DataFrame:
    """`per_second` is merged by SECOND_KEY."""
    return declared(per_second.where(sf.col("count") > 0), LATENCY_PER_SECOND)


def latency_per_phase(per_phase: DataFrame) -> DataFrame:
    """`per_phase` is merged by PHASE_KEY. Only-negative samples leave quantiles of 0."""
    return declared(per_phase.na.fill(0, ["min_ns", "max_ns"]), LATENCY_PER_PHASE)


def latency_histogram(per_phase: DataFrame) -> DataFrame:
    arrays = per_phase.where(sf.col("count") > 0).select(
        *PHASE_KEY, sf.col("buckets").alias("bucket"), sf.col("counts").alias("count"),
        sf.lit(SUB_BUCKET_BITS).alias("sub_bucket_bits"),
    )  # fmt: skip
    return declared(arrays, LATENCY_HISTOGRAM)


def latency_heat(per_second: DataFrame) -> DataFrame:
    """Coarse bands for a heat map of each measure from the scheduled time."""
    rows = per_second.where(sf.col("measure").isin(*FROM_SCHEDULE)).select(*SECOND_KEY, "buckets", "counts")
    return rows.mapInArrow(_heat, spark_schema(LATENCY_HEAT))


def _heat(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(LATENCY_HEAT.computed()).remove_metadata()
    for batch in batches:
        buckets, counts = batch["buckets"], batch["counts"]
        offsets = np.concatenate([[0], np.cumsum(buckets.value_lengths().to_numpy())])
        fine = Histograms(offsets, buckets.flatten().to_numpy().astype(np.int64), counts.flatten().to_numpy())
        coarse = bands(fine)
        lower_ns, upper_ns = band_bounds_ns(coarse.bucket)
        found = {"band": coarse.bucket, "lower_ns": lower_ns, "upper_ns": upper_ns, "count": coarse.count}
        keys = batch.select(list(SECOND_KEY)).take(pa.array(coarse.owner()))
        columns = {name: found[name] if name in found else keys[name] for name in schema.names}
        yield pa.record_batch({name: pa.array(columns[name]) for name in columns}).cast(schema)
