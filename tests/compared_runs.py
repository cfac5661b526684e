"""Small analyzed runs with chosen values, for tests of comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brokerlab.model.environment import CellEnvironment, DurabilityFacts
from brokerlab.model.metrics import METRICS
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.results.tables import DELIVERY, RUN_SUMMARY
from brokerlab.results.verdict import CellVerdict, Verdict
from synthetic import environment, make_plan
from synthetic_tables import write_table

Values = Mapping[str, Mapping[str, Sequence[float]]]  # cell -> metric -> values of its counted executions


def write_measured(
    root: Path,
    name: str,
    values: Values,
    *,
    tag: str | None = None,
    plans: Mapping[str, Mapping[str, Any]] | None = None,
    facts: Mapping[str, CellEnvironment] | None = None,
    verdicts: Mapping[str, Mapping[str, Any]] | None = None,
    rounds: Mapping[str, Sequence[int]] | None = None,
    host: str = "lab",
) -> RunDirectory:
    """A run with plan, environment, state, verdict and the tables a comparison reads. Cells are c01 (kafka), c02 (nats), ...;
    `plans`, `facts` and `verdicts` change what is said of a cell, `rounds` are the repeats of its counted executions."""
    run = RunDirectory(root / name)
    repeats = max(len(v) for of in values.values() for v in of.values())
    plan = make_plan(name, cells=len(values), repeats=repeats)
    cells = tuple(c.model_copy(update=dict((plans or {}).get(c.cell, {}))) for c in plan.cells)
    plan = plan.model_copy(update={"cells": cells, "tag": tag})
    write_json(run.path / "plan.json", plan.model_dump(mode="json"))
    known = environment(plan)
    known = known.model_copy(update={"host": known.host.model_copy(update={"name": host})})
    for cell in cells:
        level = DurabilityFacts(level=cell.durability.value)
        known = known.with_cell(cell.cell, CellEnvironment(durability=level, driver_path="native (test)"))
        known = known.with_cell(cell.cell, (facts or {}).get(cell.cell, CellEnvironment()))
    write_json(run.path / "environment.json", known.model_dump(mode="json"))
    write_json(run.path / "state.json", {"executions": {str(e): {"state": "finished"} for e in plan.order}})
    _tables(run, plan.cells, values, rounds or {})
    judged = tuple(_verdict(c, repeats, (verdicts or {}).get(c.cell, {})) for c in cells)
    verdict = Verdict(
        run=name, verdict="valid", complete=True, headline="", reasons=(), delivery={}, delivery_violated=False,
        objectives=(), cells=judged, quarantined=(),
    )  # fmt: skip
    write_json(run.verdict_file, verdict.model_dump(mode="json"))
    return run


def _tables(run: RunDirectory, cells: Sequence[Any], values: Values, rounds: Mapping[str, Sequence[int]]) -> None:
    summary, delivery = [], []
    for cell in cells:
        for metric, of in values[cell.cell].items():
            summary.append(
                {"run": run.name, "cell": cell.cell, "label": cell.label, "broker": cell.broker, "durability": "L4",
                 "metric": metric, "unit": METRICS[metric].unit, "n": len(of), "median": sorted(of)[len(of) // 2],
                 "low": min(of), "high": max(of), "values": list(map(float, of))}
            )  # fmt: skip
        longest = max(len(v) for v in values[cell.cell].values())
        for repeat in rounds.get(cell.cell, range(1, longest + 1)):
            counts = {c.name: 0 for c in DELIVERY.columns if c.type == "long"}
            delivery.append({"cell": cell.cell, "repeat": repeat, "group": "g1", **counts, "drained": True})
    write_table(run.path, RUN_SUMMARY, summary)
    write_table(run.path, DELIVERY, delivery)


def _verdict(cell: Any, repeats: int, changes: Mapping[str, Any]) -> CellVerdict:
    facts: dict[str, Any] = {
        "cell": cell.cell, "label": cell.label, "verdict": "valid", "repeats_planned": repeats,
        "repeats_finished": repeats, "durability_declared": "L4", "durability_computed": "L4",
    }  # fmt: skip
    return CellVerdict(**{**facts, **changes})
