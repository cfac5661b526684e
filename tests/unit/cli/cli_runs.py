"""Small run directories for the command line's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.model.arrow import arrow_schema
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.results.tables import RUN_SUMMARY
from brokerlab.results.verdict import CellVerdict, ObjectiveResult, Reason, Verdict
from synthetic import make_plan

NAME = "20261115T120000-steady-abc123"


def make_run(root: Path, name: str = NAME, states: dict[str, dict[str, Any]] | None = None) -> RunDirectory:
    """A run of two cells and two repeats, planned; `states` is what state.json says of its executions."""
    run = RunDirectory(root / name)
    plan = make_plan(name)
    write_json(run.path / "plan.json", plan.model_dump(mode="json"))
    finished = {str(e): {"state": "finished"} for e in plan.order}
    write_json(run.path / "state.json", {"executions": finished if states is None else states})
    return run


def make_verdict(name: str = NAME, **changes: Any) -> Verdict:
    facts: dict[str, Any] = {
        "run": name,
        "verdict": "valid",
        "complete": True,
        "headline": "Both brokers took 500 messages a second.",
        "reasons": (),
        "delivery": {"sent": 20_000, "acknowledged": 20_000, "received": 20_000, "lost": 0},
        "delivery_violated": False,
        "objectives": (),
        "cells": (
            CellVerdict(
                cell="c01",
                label="kafka",
                verdict=changes.get("verdict", "valid"),
                rates=changes.get("verdict", "valid"),
                repeats_planned=2,
                repeats_finished=2,
                durability_declared="L4",
                durability_computed="L4",
            ),
        ),
        "quarantined": (),
    }
    return Verdict(**{**facts, **changes})


MISSED = ObjectiveResult(text="p99(end_to_end_latency) < 20ms", cell="c01", met="missed", value=3e7, limit=2e7)
NOT_DELIVERED = Reason(
    code="load_not_delivered", weight="invalid", cell="c01", repeat=2, text="61 % of the target was sent"
)


def summary_row(
    cell: str, label: str, metric: str, values: list[float], durability: str = "L4", set_aside: int = 0
) -> dict[str, Any]:
    return {
        "cell": cell,
        "label": label,
        "broker": label,
        "durability": durability,
        "metric": metric,
        "unit": "",
        "n": len(values),
        "median": sorted(values)[len(values) // 2],
        "low": min(values),
        "high": max(values),
        "values": values,
        "set_aside": set_aside,
    }


def write_answer(run: RunDirectory, verdict: Verdict | None = None) -> None:
    """verdict.json and tables/run_summary, as the analysis leaves them."""
    write_json(run.verdict_file, (verdict or make_verdict(run.name)).model_dump(mode="json"))
    rows = [
        summary_row("c01", "kafka", "sent_per_s", [500.0, 500.0]),
        summary_row("c01", "kafka", "end_to_end_latency_p99_ns", [2_300_000.0, 2_410_000.0]),
        summary_row("c02", "nats", "sent_per_s", [500.0, 499.0]),
    ]
    schema = arrow_schema(RUN_SUMMARY)
    columns = {c.name: [row.get(c.name, c.default) for row in rows] for c in RUN_SUMMARY.columns}
    (run.tables / "run_summary").mkdir(parents=True)
    pq.write_table(pa.table(columns, schema=schema), run.tables / "run_summary" / "part-0.parquet")
