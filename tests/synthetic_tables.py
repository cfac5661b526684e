"""Result tables and a verdict made from known facts, without Spark: what the report's tests stand on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.model.arrow import arrow_schema
from brokerlab.model.environment import CellEnvironment, DurabilityFacts
from brokerlab.model.histogram import SUB_BUCKET_BITS, bucket_of, lower_bound_ns, quantile_ns, upper_bound_ns
from brokerlab.model.metrics import COSTS, FROM_SCHEDULE, METRICS, OF_DELIVERIES
from brokerlab.model.plan import Durability, RunPlan
from brokerlab.model.tables import Table
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.results.tables import RESULT_TABLES
from brokerlab.results.verdict import CellVerdict, ObjectiveResult, Reason, Verdict
from synthetic import START_UNIX_S, environment, make_plan

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
BASE_NS = {
    "publish_latency": 1_400_000,
    "end_to_end_latency": 2_300_000,
    "send_delay": 45_000,
    "publish_latency_from_send": 1_355_000,
    "end_to_end_latency_from_send": 2_255_000,
}
Rows = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Story:
    """What the tables are to tell. `labels` and `levels` are taken in turn by the cells."""

    cells: int = 2
    repeats: int = 5
    rate_per_s: float = 2_000.0
    warm_up_s: int = 5
    measure_s: int = 30
    groups: int = 1
    labels: tuple[str, ...] = ("kafka", "nats")
    levels: tuple[str, ...] = ("L4", "L4")
    lost: int = 0
    drained: bool = True
    verdict: str = "valid"
    reasons: tuple[Reason, ...] = ()
    skip_tables: tuple[str, ...] = ()


def write_table(directory: Path, table: Table, rows: list[dict[str, Any]]) -> None:
    """tables/<name>/part-0.parquet with exactly the declared columns; those that came later have their default."""
    folder = directory / "tables" / table.name
    folder.mkdir(parents=True, exist_ok=True)
    defaults = {c.name: c.default for c in table.columns if c.default is not None}
    whole = [defaults | row for row in rows]
    pq.write_table(pa.Table.from_pylist(whole, schema=arrow_schema(table)), folder / "part-0.parquet")


def story_plan(run: str, story: Story) -> RunPlan:
    plan = make_plan(
        run,
        cells=story.cells,
        repeats=story.repeats,
        rate_per_s=story.rate_per_s / 2,
        warm_up_s=story.warm_up_s,
        measure_s=story.measure_s,
        groups=story.groups,
    )
    cells = tuple(
        c.model_copy(
            update={
                "label": story.labels[i % len(story.labels)] + (f" {i + 1}" if i >= len(story.labels) else ""),
                "durability": Durability(story.levels[i % len(story.levels)]),
            }
        )
        for i, c in enumerate(plan.cells)
    )
    return plan.model_copy(
        update={"cells": cells, "question": "Which broker holds 2,000 messages a second with less delay?"}
    )


def write_results(directory: Path, story: Story | None = None, seed: int = 0) -> RunDirectory:
    """A run directory with plan, environment, state, verdict and all tables, and no evidence."""
    story = story or Story()
    plan = story_plan(directory.name, story)
    write_json(directory / "plan.json", plan.model_dump(mode="json"))
    facts = environment(plan)
    for c in plan.cells:
        computed = DurabilityFacts(level=c.durability.value, because={"replication": "1"})
        facts = facts.with_cell(c.cell, CellEnvironment(durability=computed))
    write_json(directory / "environment.json", facts.model_dump(mode="json"))
    states = {
        str(e): {
            "state": "finished",
            "reason": None,
            "started_unix_s": START_UNIX_S + 100 * i,
            "drained": True,
        }
        for i, e in enumerate(plan.order)
    }
    write_json(directory / "state.json", {"schema_version": 1, "executions": states})
    rows: Rows = {name: [] for name in RESULT_TABLES}
    rng = np.random.default_rng(seed)
    for number, cell in enumerate(plan.cells):
        samples = {
            r: _execution(rows, story, cell.cell, r, number, rng, START_UNIX_S + 100 * (r * story.cells + number))
            for r in range(1, story.repeats + 1)
        }
        _merged(rows, cell.cell, samples)
        _summary(rows, story, plan, number, samples, rng)
    _comparisons(rows, plan)
    for name, table in RESULT_TABLES.items():
        if name not in story.skip_tables:
            write_table(directory, table, rows[name])
    write_json(directory / "verdict.json", _verdict(plan, story).model_dump(mode="json"))
    return RunDirectory(directory)


def _execution(
    rows: Rows, story: Story, cell: str, repeat: int, number: int, rng: np.random.Generator, start: int
) -> dict[str, np.ndarray[Any, Any]]:
    """All rows of one execution; returns the samples of the measure phase by measure."""
    at = {"cell": cell, "repeat": repeat}
    kept: dict[str, list[np.ndarray[Any, Any]]] = {m: [] for m in BASE_NS}
    groups = [f"g{i + 1}" for i in range(story.groups)]
    backlog = 0
    for i in range(story.warm_up_s + story.measure_s + 3):
        phase = "warm_up" if i < story.warm_up_s else "measure" if i < story.warm_up_s + story.measure_s else "drain"
        second = {**at, "second_unix_s": start + i, "phase": phase}
        n = 0 if phase == "drain" else int(story.rate_per_s)
        stalled = i == story.warm_up_s + story.measure_s // 2 and number % 2 == 0
        offered = n + backlog
        settled = int(offered * (0.55 if stalled else 1.0 if phase == "drain" else rng.uniform(0.99, 1.0)))
        backlog = offered - settled
        _rates(rows, second, n, settled, groups)
        _readings(rows, second, number, rng, stalled)
        if not n:
            continue
        for measure, base in BASE_NS.items():
            slow = (
                3.0
                if phase == "warm_up" and measure != "send_delay"
                else 25.0
                if stalled and measure != "send_delay"
                else 1.0
            )
            drawn = (base * slow * (1 + 0.6 * number) * rng.lognormal(0.0, 0.45, n)).astype(np.int64)
            _latency(rows, second, measure, drawn, groups)
            if phase == "measure":
                kept[measure].append(drawn)
    _health(rows, at, story, groups, number)
    rows["cost"].append(
        {**at, "phase": "measure", "seconds": story.measure_s, "sent": 1, "received": 1, **dict.fromkeys(m.key for m in COSTS),
         "broker_cpu_us_per_message": 210.0, "reason": "stored: the data directories were not read"}
    )  # fmt: skip
    sent = int(story.rate_per_s) * (story.warm_up_s + story.measure_s)
    for group in groups:
        counts = dict.fromkeys((c.name for c in RESULT_TABLES["delivery"].columns if c.type == "long"), 0)
        counts |= {
            "sent": sent,
            "acknowledged": sent,
            "received": sent - story.lost + 3 * number,
            "delivered": sent - story.lost,
        }
        counts |= {"lost": story.lost, "duplicated": 3 * number}
        rows["delivery"].append({**at, "group": group, **counts, "drained": story.drained})
        if story.lost:
            rows["lost_range"].append(
                {**at, "group": group, "producer": 0, "partition": 1, "first": 7, "last": 6 + story.lost}
            )
    samples = {m: np.concatenate(parts) for m, parts in kept.items()}
    for measure, values in samples.items():
        _phase(rows, at, measure, values, groups)
    for series in ("sent", "received"):
        rows["steadiness"].append({**at, "series": series, "seconds": story.measure_s, "mean": story.rate_per_s, "variation": 0.01, "slope_per_minute": 0.001, "change_second": -1, "label": "flat"})  # fmt: skip
    return samples


def _rates(rows: Rows, second: dict[str, Any], n: int, settled: int, groups: list[str]) -> None:
    zero = dict.fromkeys(("due", "sent", "acknowledged", "rejected", "unknown", "received", "bytes"), 0)
    rows["rate_per_second"].append({**second, **zero, "role": "producer", "group": "", "due": n, "sent": n, "acknowledged": settled, "bytes": n * 200})  # fmt: skip
    for g in groups:
        rows["rate_per_second"].append({**second, **zero, "role": "consumer", "group": g, "received": settled, "bytes": settled * 200})  # fmt: skip


def _readings(rows: Rows, second: dict[str, Any], number: int, rng: np.random.Generator, stalled: bool) -> None:
    broker = ("kafka-1", "nats-1")[number % 2]
    jitter = rng.uniform(0.95, 1.05)
    for subject, metric, value, unit in (
        ("host", "cpu_busy_cores", 1.1 * jitter, "cores"),
        ("host", "cpu_steal_cores", 0.01, "cores"),
        ("host", "cpu_foreign_cores", 0.04 * jitter, "cores"),
        ("host", "disk_busy_ms_per_s", 900.0 if stalled else 120 * jitter, "ms/s"),
        ("host", "disk_write_bytes_per_s", 8e6 * jitter, "B/s"),
        (f"process:{broker}", "cpu_cores", (0.6 - 0.3 * (number % 2)) * jitter, "cores"),
        (f"process:{broker}", "write_bytes_per_s", 6e6 * jitter, "B/s"),
        ("process:producer-1", "cpu_cores", 0.22 * jitter, "cores"),
        ("process:consumer-g1-1", "cpu_cores", 0.15 * jitter, "cores"),
    ):
        rows["reading_per_second"].append(
            {**second, "subject": subject, "metric": metric, "value": value, "unit": unit}
        )


def _group(measure: str, groups: list[str]) -> list[str]:
    return groups if measure in OF_DELIVERIES else [""]


def _histogram(values: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    return np.unique(bucket_of(values), return_counts=True)


def _latency(rows: Rows, second: dict[str, Any], measure: str, values: np.ndarray[Any, Any], groups: list[str]) -> None:
    buckets, counts = _histogram(values)
    bands, where = np.unique(buckets >> (SUB_BUCKET_BITS - 2), return_inverse=True)
    sums = np.bincount(where, counts).astype(int)
    step = SUB_BUCKET_BITS - 2
    for group in _group(measure, groups):
        at = {**second, "measure": measure, "group": group}
        quantiles = {f"{k}_ns": quantile_ns(buckets, counts, q, int(values.max())) for k, q in QUANTILES.items()}
        rows["latency_per_second"].append({**at, "count": len(values), **quantiles, "max_ns": int(values.max()), "mean_ns": float(values.mean())})  # fmt: skip
        if measure not in FROM_SCHEDULE:
            continue
        for band, n in zip(bands.tolist(), sums.tolist(), strict=True):
            low, high = lower_bound_ns(band << step), upper_bound_ns(((band + 1) << step) - 1)
            rows["latency_heat"].append({**at, "band": band, "lower_ns": low, "upper_ns": high, "count": n})


def _phase(rows: Rows, at: dict[str, Any], measure: str, values: np.ndarray[Any, Any], groups: list[str]) -> None:
    buckets, counts = _histogram(values)
    for group in _group(measure, groups):
        key = {**at, "phase": "measure", "measure": measure, "group": group}
        quantiles = {
            f"{k}_ns": quantile_ns(buckets, counts, q, int(values.max()))
            for k, q in (QUANTILES | {"p9999": 0.9999}).items()
        }
        rows["latency_per_phase"].append(
            {**key, "count": len(values), "negative": 0, **quantiles, "min_ns": int(values.min()), "max_ns": int(values.max()), "mean_ns": float(values.mean())}
        )  # fmt: skip
        rows["latency_histogram"].append(
            {**key, "bucket": buckets.tolist(), "count": counts.tolist(), "sub_bucket_bits": SUB_BUCKET_BITS}
        )


def _merged(rows: Rows, cell: str, samples: dict[int, dict[str, np.ndarray[Any, Any]]]) -> None:
    for measure in BASE_NS:
        every = np.concatenate([s[measure] for s in samples.values()])
        _phase(rows, {"cell": cell, "repeat": 0}, measure, every, ["g1"])


def _health(rows: Rows, at: dict[str, Any], story: Story, groups: list[str], number: int) -> None:
    base = {**at, "seconds": story.measure_s, "buffer_full": 0, "behind_max": 2 * number, "in_flight_max": 40}
    rows["agent_health"].append({**base, "agent": "producer-1", "role": "producer", "cpu_cores_mean": 0.22, "cpu_cores_max": 0.3, "send_delay_p99_ns": 130_000})  # fmt: skip
    for g in groups:
        rows["agent_health"].append({**base, "agent": f"consumer-{g}-1", "role": "consumer", "cpu_cores_mean": 0.15, "cpu_cores_max": 0.2, "send_delay_p99_ns": 0})  # fmt: skip


def _summary(
    rows: Rows, story: Story, plan: RunPlan, number: int, samples: dict[int, dict[str, Any]], rng: np.random.Generator
) -> None:
    cell = plan.cells[number]
    metrics: dict[str, list[float]] = {
        "sent_per_s": [story.rate_per_s] * story.repeats,
        "received_per_s": [story.rate_per_s * float(rng.uniform(0.99, 1.0)) for _ in range(story.repeats)],
        "sent_bytes_per_s": [story.rate_per_s * 200] * story.repeats,
        "lost": [float(story.lost)] * story.repeats,
    }
    for measure in BASE_NS:
        for name in ("p50", "p99", "p999"):
            metrics[f"{measure}_{name}_ns"] = [
                float(quantile_ns(*_histogram(s[measure]), QUANTILES[name], int(s[measure].max())))
                for s in samples.values()
            ]
    metrics["broker_cpu_us_per_message"] = [210.0 + 7 * i for i in range(story.repeats)]
    metrics["sent_variation"] = [0.0123] * story.repeats
    for metric, values in metrics.items():
        unit = METRICS[metric].unit
        rows["execution_figure"] += [
            {"cell": cell.cell, "repeat": i + 1, "metric": metric, "unit": unit, "value": v}
            for i, v in enumerate(values)
        ]
        rows["run_summary"].append(
            {"cell": cell.cell, "label": cell.label, "broker": cell.broker, "durability": cell.durability.value, "metric": metric,
             "unit": unit, "n": len(values), "median": float(np.median(values)), "low": min(values), "high": max(values), "values": values}
        )  # fmt: skip


def _comparisons(rows: Rows, plan: RunPlan) -> None:
    by = {(r["cell"], r["metric"]): r for r in rows["run_summary"]}
    for i, a in enumerate(plan.cells):
        for b in plan.cells[i + 1 :]:
            for metric in ("received_per_s", "publish_latency_p99_ns", "end_to_end_latency_p99_ns"):
                ra, rb = by[a.cell, metric], by[b.cell, metric]
                low, high = ra["low"] / rb["high"], ra["high"] / rb["low"]
                pairs = min(ra["n"], rb["n"])
                few = f"repeats that both have: {pairs}, needed: 4" if pairs < 4 else ""
                reason = few or ("the interval holds 1" if low <= 1 <= high else "")
                rows["comparison"].append(
                    {"cell_a": a.cell, "cell_b": b.cell, "metric": metric, "n_a": ra["n"], "n_b": rb["n"], "ratio": ra["median"] / rb["median"],
                     "low": low, "high": high, "answer": "cannot tell" if reason else ("higher" if low > 1 else "lower"),
                     "same_durability": a.durability == b.durability, "pairs": pairs, "chance": None if few else 0.01,
                     "smallest_difference": 0.05, "reason": reason}
                )  # fmt: skip


def _verdict(plan: RunPlan, story: Story) -> Verdict:
    objectives = tuple(
        ObjectiveResult(text="p99(end_to_end_latency) < 20ms", cell=c.cell, met="met", value=8_250_000.0, limit=2e7)
        for c in plan.cells[:2]
    )
    headlines = {
        "valid": "kafka and nats both held 2,000 messages a second and lost nothing; end-to-end p99 was lower on kafka.",
        "invalid": "The load was not delivered: 61.2 % of the target was sent.",
        "cannot tell": "The drain did not finish, so lost messages cannot be counted.",
    }
    return Verdict(
        run=plan.run,
        verdict=story.verdict,  # type: ignore[arg-type]
        complete=True,
        headline=headlines[story.verdict],
        reasons=story.reasons,
        delivery={"sent": 100_000, "acknowledged": 100_000, "received": 100_003, "lost": story.lost, "duplicated": 3, "corrupted": 0, "unexpected": 0},
        delivery_violated=story.lost > 0,
        objectives=objectives,
        cells=tuple(
            CellVerdict(
                cell=c.cell, label=c.label, verdict=story.verdict, rates=story.verdict, repeats_planned=plan.repeats, repeats_finished=plan.repeats,  # type: ignore[arg-type]
                durability_declared=c.durability.value, durability_computed=c.durability.value,
            )
            for c in plan.cells
        ),
        quarantined=(),
    )  # fmt: skip
