"""Latency tables, all from histograms merged by adding counts: exact, deterministic, in any order.

Histograms stay arrays in one row each and are added up in numpy (pipeline.merging): as rows of (bucket, count) they
would be hundreds of times as many, each with its key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.evidence.tables import AGENT
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.histogram import SUB_BUCKET_BITS, band_bounds_ns
from brokerlab.model.metrics import FROM_SCHEDULE, FROM_SEND, MEASURE_TABLE, Measure
from brokerlab.model.quantiles import SHARES
from brokerlab.model.tables import Column, Table
from brokerlab.pipeline.merging import Histograms, bands, merge, quantiles_ns
from brokerlab.results.tables import LATENCY_PER_PHASE, LATENCY_PER_SECOND

SECOND_KEY = ("cell", "repeat", "second_unix_s", "phase", "measure", "group")
PHASE_KEY = ("cell", "repeat", "phase", "measure", "group")
_COLUMNS = {c.name: c for c in (*AGENT, *LATENCY_PER_SECOND.columns, *LATENCY_PER_PHASE.columns)}


def merged_table(key: tuple[str, ...]) -> Table:
    """What `merging` makes: a histogram and exact figures of the same samples; without any, `min_ns` and `max_ns` are null,
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


def samples(interval: pa.Table) -> pa.Table:
    """interval with its histograms one below the other: agent, SECOND_KEY, buckets, counts, and exact sums.

    An interval row has one counter of negatives from the scheduled time and one from the hand-over: they belong to the
    end-to-end latency of a consumer and to the publish latency of a producer.
    """
    return pa.concat_tables([_of_measure(interval, measure) for measure in MEASURE_TABLE])


def _of_measure(interval: pa.Table, of: Measure) -> pa.Table:
    measure, negative = of.key, "negative_from_send" if of.key in FROM_SEND else "negative"
    counts_negatives = {"acknowledged": "producer", "received": "consumer"}.get(of.ends, "")
    negatives = pc.if_else(pc.equal(interval["role"], counts_negatives), interval[negative], 0)
    any_sample = pc.greater(pc.list_value_length(interval[f"{measure}_bucket"]), 0)
    rows = pa.table(
        {
            **{name: interval[name] for name in ("agent", *SECOND_KEY) if name != "measure"},
            "measure": pa.repeat(measure, len(interval)),
            "buckets": interval[f"{measure}_bucket"].cast(pa.list_(pa.int32())),
            "counts": interval[f"{measure}_count"].cast(pa.list_(pa.int64())),
            "negative": negatives.cast(pa.int64()),
            "min_ns": pc.if_else(any_sample, interval[f"{measure}_min_ns"], None),
            "max_ns": pc.if_else(any_sample, interval[f"{measure}_max_ns"], None),
            "sum_ns": interval[f"{measure}_sum_ns"],
        }
    )
    return rows.filter(pc.or_(any_sample, pc.greater(negatives, 0)))


def merging(key: tuple[str, ...]) -> Callable[[pa.Table], pa.Table]:
    """A function that makes rows of merged_table(key) of rows of `samples` or of another merged table."""
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


def latency_per_second(per_second: pa.Table) -> pa.Table:
    """`per_second` is merged by SECOND_KEY."""
    return _with_samples(per_second)


def latency_per_phase(per_phase: pa.Table) -> pa.Table:
    """`per_phase` is merged by PHASE_KEY. Only-negative samples leave quantiles of 0."""
    return with_columns(per_phase, {name: pc.fill_null(per_phase[name], 0) for name in ("min_ns", "max_ns")})


def latency_histogram(per_phase: pa.Table) -> pa.Table:
    some = _with_samples(per_phase)
    bits = pa.repeat(pa.scalar(SUB_BUCKET_BITS, pa.int32()), len(some))
    return with_columns(some, {"bucket": some["buckets"], "count": some["counts"], "sub_bucket_bits": bits})


def latency_heat(per_second: pa.Table) -> pa.Table:
    """Coarse bands for a heat map of each measure from the scheduled time."""
    rows = per_second.filter(pc.is_in(per_second["measure"], pa.array(FROM_SCHEDULE)))
    buckets, counts = rows["buckets"].combine_chunks(), rows["counts"].combine_chunks()
    offsets = np.concatenate([[0], np.cumsum(buckets.value_lengths().to_numpy())])
    fine = Histograms(offsets, buckets.flatten().to_numpy().astype(np.int64), counts.flatten().to_numpy())
    coarse = bands(fine)
    lower_ns, upper_ns = band_bounds_ns(coarse.bucket)
    keys = rows.select(list(SECOND_KEY)).take(pa.array(coarse.owner()))
    return with_columns(
        keys, {"band": coarse.bucket, "lower_ns": lower_ns, "upper_ns": upper_ns, "count": coarse.count}
    )


def with_columns(rows: pa.Table, columns: Mapping[str, object]) -> pa.Table:
    """The rows with these columns, in place of those of the same name."""
    return pa.table({name: rows[name] for name in rows.column_names} | dict(columns))


def _with_samples(merged: pa.Table) -> pa.Table:
    return merged.filter(pc.greater(merged["count"], 0))
