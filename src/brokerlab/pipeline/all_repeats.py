"""Repeat 0 of the latency tables: all counted repeats of a cell merged. Made after the judgement, which says what counts."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.model.execution_id import ExecutionId
from brokerlab.pipeline.latency import PHASE_KEY, merging
from brokerlab.results.tables import LATENCY_HISTOGRAM, LATENCY_PER_PHASE

ALL_REPEATS = 0


def with_all_repeats(
    per_phase: pa.Table, histograms: pa.Table, counted: Collection[ExecutionId]
) -> tuple[pa.Table, pa.Table]:
    """latency_per_phase and latency_histogram with the rows of repeat 0, in order."""
    merged = _merged(per_phase, histograms, counted)
    if merged is None:
        return per_phase, histograms
    phases = merged.select(per_phase.column_names).cast(per_phase.schema)
    some = merged.filter(pc.greater(merged["count"], 0))
    bits = histograms["sub_bucket_bits"][0].as_py() if len(histograms) else 0
    renamed = some.drop_columns(["count"]).rename_columns({"buckets": "bucket", "counts": "count"})
    arrays = renamed.append_column("sub_bucket_bits", pa.array(np.full(len(some), bits, np.int32)))
    spectrum = arrays.select(histograms.column_names).cast(histograms.schema)
    return (
        pa.concat_tables([phases, per_phase]).sort_by(_keys(LATENCY_PER_PHASE.computed().names())),
        pa.concat_tables([spectrum, histograms]).sort_by(_keys(LATENCY_HISTOGRAM.computed().names())),
    )


def _merged(per_phase: pa.Table, histograms: pa.Table, counted: Collection[ExecutionId]) -> pa.Table | None:
    """The counted rows added up by everything but the repeat."""
    arrays = {tuple(h[k] for k in PHASE_KEY): (h["bucket"], h["count"]) for h in histograms.to_pylist()}
    rows = []
    for row in per_phase.to_pylist():
        if ExecutionId.of(row) in counted:
            buckets, counts = arrays.get(tuple(row[k] for k in PHASE_KEY), ([], []))
            any_sample = row["count"] > 0
            rows.append(
                {
                    **{k: row[k] for k in PHASE_KEY}, "repeat": ALL_REPEATS, "buckets": buckets, "counts": counts,
                    "negative": row["negative"], "min_ns": row["min_ns"] if any_sample else None,
                    "max_ns": row["max_ns"] if any_sample else None, "sum_ns": round(row["mean_ns"] * row["count"]),
                }
            )  # fmt: skip
    if not rows:
        return None
    types = pa.schema(
        [
            *((name, pa.int32() if name == "repeat" else pa.string()) for name in PHASE_KEY),
            ("buckets", pa.list_(pa.int32())), ("counts", pa.list_(pa.int64())), ("negative", pa.int64()),
            ("min_ns", pa.int64()), ("max_ns", pa.int64()), ("sum_ns", pa.int64()),
        ]
    )  # fmt: skip
    merged = merging(PHASE_KEY)(pa.Table.from_pylist(rows, types))
    for name in ("min_ns", "max_ns"):  # only negative samples
        merged = merged.set_column(merged.column_names.index(name), name, pc.fill_null(merged[name], 0))
    return merged


def _keys(names: Collection[str]) -> list[tuple[str, str]]:
    return [(name, "ascending") for name in names if name in PHASE_KEY]
