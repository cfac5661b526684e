"""reading_per_second: figures of host, processes and brokers on the same seconds as the load."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.model.phases import DRAIN, MEASURE, WARM_UP

DECIMALS = 9  # the mean of a second must not depend on the order of its rows
_STEP = Decimal(1).scaleb(-DECIMALS)
_SERIES = ("cell", "repeat", "subject", "metric", "unit")
_READ = (*_SERIES, "second_unix_s", "value")


def reading_per_second(reading: pa.Table, rates: pa.Table) -> pa.Table:
    """Of one execution: gauges as the mean of the second; counters (`..._total`) as increase / time since the reading
    before.

    A counter that falls has been restarted: that step is left out. `rates` is rate_per_second, which says when phases
    began; readings before the measure phase count as warm-up, those after it as drain.
    """
    counter = pc.ends_with(reading["metric"], "_total")
    gauges = reading.filter(pc.invert(counter)).select(list(_READ))
    seconds = pa.concat_tables([gauges, _increases(reading.filter(counter))])
    means = seconds.group_by([*_SERIES, "second_unix_s"], use_threads=False).aggregate([("value", "mean")])
    rounded = [_rounded(value) for value in means["value_mean"].to_pylist()]
    return pa.table(
        {
            **{name: means[name] for name in (*_SERIES, "second_unix_s")},
            "phase": _phase(means["second_unix_s"], rates),
            "value": pa.array(rounded, pa.float64()),
        }
    )


def _rounded(value: float) -> float:
    """To DECIMALS, halves up, of the number as it is written: what Spark's `round` gives."""
    if value.is_integer() or not math.isfinite(value):
        return value
    return float(Decimal(repr(value)).quantize(_STEP, ROUND_HALF_UP))


def _phase(second: pa.ChunkedArray, rates: pa.Table) -> pa.ChunkedArray:
    measured = rates.filter(pc.equal(rates["phase"], MEASURE))["second_unix_s"]
    if not len(measured):
        return pa.repeat(WARM_UP, len(second))
    after = pc.greater(second, pc.max(measured))
    return pc.if_else(after, DRAIN, pc.if_else(pc.greater_equal(second, pc.min(measured)), MEASURE, WARM_UP))


def _increases(counters: pa.Table) -> pa.Table:
    """The counters' readings as rates, renamed ..._total -> ..._per_s, unit u -> u/s."""
    along = counters.sort_by([(name, "ascending") for name in (*_SERIES, "at_mono_ns")])
    same = np.ones(max(len(along) - 1, 0), bool)
    for name in _SERIES:
        code = along[name].combine_chunks().dictionary_encode().indices.to_numpy()
        same &= np.diff(code) == 0
    step = np.diff(along["value"].to_numpy())
    elapsed_s = np.diff(along["at_mono_ns"].to_numpy()) / 1e9
    kept = np.flatnonzero(same & (step >= 0) & (elapsed_s > 0))
    rows = along.take(pa.array(kept + 1))
    columns = {name: rows[name] for name in _READ} | {
        "metric": pc.replace_substring_regex(rows["metric"], "_total$", "_per_s"),
        "unit": pc.binary_join_element_wise(rows["unit"], "/s", ""),
        "value": pa.array(step[kept] / elapsed_s[kept]),
    }
    return pa.table(columns)
