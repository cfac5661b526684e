"""A few result tables of one execution as soon as it has ended, from its evidence on disk and without Spark: what the
judgement needs to say whether the machine or our own agents spoiled it. The analysis makes the same rows later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from brokerlab.evidence.segments import rows
from brokerlab.evidence.tables import ACTIVITY, INTERVAL, READING
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.histogram import quantile_ns
from brokerlab.model.metrics import MEASURES
from brokerlab.model.plan import Phase
from brokerlab.model.quantiles import SHARES
from brokerlab.results.directory import RunDirectory

Row = dict[str, Any]


def tables_at_once(directory: RunDirectory, execution: ExecutionId) -> dict[str, list[Any]]:
    """Rows of latency_per_phase, latency_per_second (send_delay alone), rate_per_second, agent_health and
    reading_per_second (what others used of the processors), of the measure phase. Raises OSError where evidence cannot
    be read."""
    evidence, where = directory.evidence(execution), {"cell": execution.cell, "repeat": execution.repeat}
    intervals = [r for r in rows(evidence, INTERVAL) if r["phase"] == Phase.MEASURE.value]
    activity = [r for r in rows(evidence, ACTIVITY) if r["phase"] == Phase.MEASURE.value]
    seconds = {r["second_unix_s"] for r in intervals}
    readings = [r for r in rows(directory.probes(execution), READING) if r["second_unix_s"] in seconds]
    found = {
        "latency_per_phase": list(_latencies(intervals, ("group",), MEASURES)),
        "latency_per_second": list(_latencies(intervals, ("second_unix_s",), ("send_delay",))),
        "rate_per_second": _rates(activity),
        "agent_health": _agents(activity),
        "reading_per_second": [
            {name: r[name] for name in ("second_unix_s", "subject", "metric", "value")}
            for r in readings
            if r["subject"] == "host" and r["metric"].startswith("cpu_")
        ],
    }
    return {
        name: [{**where, "phase": Phase.MEASURE.value, **row} for row in table_rows]
        for name, table_rows in found.items()
    }


def _latencies(intervals: list[Row], key: tuple[str, ...], measures: Iterable[str]) -> Iterable[Row]:
    for measure in measures:
        of: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
        for row in intervals:
            if len(row[f"{measure}_bucket"] or ()) or row["negative"]:
                of[tuple(row[k] for k in key)].append(row)
        for values, group in sorted(of.items()):
            negative = sum(r["negative"] for r in group if _counts_negatives(measure, r))
            yield {
                **dict(zip(key, values, strict=True)), "measure": measure, "negative": negative,
                **_merged([r[f"{measure}_bucket"] or () for r in group], [r[f"{measure}_count"] or () for r in group]),
            }  # fmt: skip


def _counts_negatives(measure: str, row: Mapping[str, Any]) -> bool:
    """An interval has one counter of negative samples: a producer's belongs to publishing, a consumer's to the whole way."""
    return measure == ("publish_latency" if row["role"] == "producer" else "end_to_end_latency")


def _merged(buckets: list[Any], counts: list[Any]) -> Row:
    which, place = np.unique(np.concatenate([np.asarray(b, np.int32) for b in buckets]), return_inverse=True)
    weights = np.concatenate([np.asarray(c, np.int64) for c in counts])
    merged = np.bincount(place, weights, len(which)).astype(np.int64)
    return {"count": int(merged.sum()), **{key: quantile_ns(which, merged, share) for key, share in SHARES.items()}}


def _rates(activity: list[Row]) -> list[Row]:
    names = ("second_unix_s", "role", "group", "sent", "received", "bytes", "buffer_full")
    return [{name: r[name] for name in names} for r in activity]


def _agents(activity: list[Row]) -> list[Row]:
    of: dict[str, list[Row]] = defaultdict(list)
    for row in activity:
        of[row["agent"]].append(row)
    return [
        {
            "agent": agent, "role": mine[0]["role"], "behind_max": max(r["behind"] for r in mine),
            "cpu_cores_mean": sum(r["cpu_user_ns"] + r["cpu_system_ns"] for r in mine) / sum(r["elapsed_ns"] for r in mine),
            "longest_pause_ns": (worst := max(mine, key=lambda r: r["longest_pause_ns"] or 0))["longest_pause_ns"] or 0,
            "longest_pause_unix_s": worst["second_unix_s"],
        }
        for agent, mine in sorted(of.items())
    ]  # fmt: skip
