"""latency_spectrum: the value at percentiles that come closer and closer to 100, as HdrHistogram steps through them."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pyarrow as pa

from brokerlab.model.arrow import arrow_schema
from brokerlab.model.histogram import lower_bounds_ns
from brokerlab.model.plan import Phase
from brokerlab.results.derived_tables import LATENCY_SPECTRUM

STEPS_PER_HALVING = 5  # HdrHistogram's own default: so many steps until half of what is left to 100 % is passed
_KEY = ("cell", "repeat", "measure", "group")


@cache
def percentiles(samples: int) -> tuple[float, ...]:
    """Percentiles from 0 on while at least one sample lies beyond, and 100."""
    found = []
    level = 0.0
    while (100 - level) * samples >= 100:
        found.append(level)
        halvings = math.floor(math.log2(100 / (100 - level))) + 1
        level += 100 / (STEPS_PER_HALVING * 2**halvings)
    return (*found, 100.0)


def latency_spectrum(per_phase: pa.Table, histograms: pa.Table) -> pa.Table:
    """The table of that name without the columns that are added when it is written; `per_phase` and `histograms` are
    latency_per_phase and latency_histogram, those of all repeats included."""
    largest_ns = {
        tuple(r[k] for k in _KEY): r["max_ns"]
        for r in per_phase.select([*_KEY, "phase", "max_ns"]).to_pylist()
        if r["phase"] == Phase.MEASURE.value
    }
    schema = arrow_schema(LATENCY_SPECTRUM.computed())
    parts = []
    for row in histograms.to_pylist():
        if row["phase"] == Phase.MEASURE.value:
            key = tuple(row[k] for k in _KEY)
            found = _spectrum(np.array(row["bucket"]), np.array(row["count"]), largest_ns[key])
            names = {k: [v] * len(found["percentile"]) for k, v in zip(_KEY, key, strict=True)}
            parts.append(
                pa.table({name: pa.array((names | found)[name], schema.field(name).type) for name in schema.names})
            )
    return pa.concat_tables(parts).cast(schema) if parts else schema.empty_table()


def _spectrum(
    bucket: np.ndarray[tuple[int], np.dtype[np.int64]],
    count: np.ndarray[tuple[int], np.dtype[np.int64]],
    largest_ns: int,
) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]] | np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Quantiles as pipeline.merging.quantiles_ns has them: the bucket's upper bound, at most the largest sample."""
    total = np.cumsum(count)
    levels = np.array(percentiles(int(total[-1])))
    rank = np.maximum(np.ceil(levels / 100 * total[-1] - 1e-9).astype(np.int64), 1)
    holder = np.searchsorted(total, rank)
    value_ns = np.minimum(lower_bounds_ns(bucket[holder] + 1) - 1, largest_ns)
    return {"percentile": levels, "value_ns": value_ns, "samples": total[holder]}
