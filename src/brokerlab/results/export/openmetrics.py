"""Runs as OpenMetrics text: what Prometheus and its relatives read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from brokerlab.model.metrics import METRICS, Metric
from brokerlab.results.analyzed import AnalyzedRun, rows_of
from brokerlab.results.tables import RUN_SUMMARY

_SECOND_NS = 1e9
_STATISTICS = ("median", "low", "high")


def as_openmetrics(runs: Sequence[AnalyzedRun]) -> str:
    """Every metric of run_summary as a gauge with `statistic` median, low or high; latencies in seconds. Whether a cell is
    valid is a gauge of its own: figures of one that is not are exported, too, and must not be read without it."""
    lines = []
    by_metric: dict[str, list[tuple[AnalyzedRun, dict[str, Any]]]] = {}
    for run in runs:
        for row in rows_of(run, RUN_SUMMARY):
            by_metric.setdefault(row["metric"], []).append((run, row))
    for metric in METRICS.values():
        rows = by_metric.get(metric.key)
        if rows:
            name, unit, scale = _family(metric)
            lines += [f"# TYPE {name} gauge", *([f"# UNIT {name} {unit}"] if unit else [])]
            lines.append(f"# HELP {name} {_escaped(metric.meaning)}")
            for run, row in rows:
                labels = {k: row[k] for k in ("cell", "label", "broker", "durability")}
                lines += [f"{name}{_labels(run, **labels, statistic=s)} {_number(row[s] / scale)}" for s in _STATISTICS]
    lines += [
        "# TYPE brokerlab_cell_valid gauge",
        "# HELP brokerlab_cell_valid 1 where the verdict on the cell is valid",
    ]
    lines += [
        f"brokerlab_cell_valid{_labels(run, cell=c.cell, label=c.label)} {int(c.verdict == 'valid')}"
        for run in runs
        for c in run.verdict.cells
    ]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _family(metric: Metric) -> tuple[str, str, float]:
    """Name, unit where OpenMetrics has one, and what a value is divided by. A unit must end the name."""
    if metric.unit == "ns":
        return f"brokerlab_{metric.key.removesuffix('_ns')}_seconds", "seconds", _SECOND_NS
    if metric.aspect == "delivery":
        return f"brokerlab_{metric.key}_messages", "messages", 1.0
    if metric.unit == "1":
        return f"brokerlab_{metric.key}_ratio", "ratio", 1.0
    return f"brokerlab_{metric.key.removesuffix('_s')}_second" if metric.key.endswith("_per_s") else f"brokerlab_{metric.key}", "", 1.0  # fmt: skip


def _labels(run: AnalyzedRun, **labels: str) -> str:
    of = {"run": run.plan.run, "tag": run.plan.tag or "", **labels}
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in of.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return repr(float(value)) if math.isfinite(value) else ("+Inf" if value > 0 else "-Inf")
