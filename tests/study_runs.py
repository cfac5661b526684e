"""Runs of studies with chosen values, and a laboratory that makes them: no broker, no load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from brokerlab import lab
from brokerlab.errors import InstallError, InterruptedRunError
from brokerlab.model.environment import CellEnvironment, DurabilityFacts
from brokerlab.model.metrics import METRICS
from brokerlab.model.plan import RunPlan
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.results.tables import RESULT_TABLES
from brokerlab.results.verdict import CellVerdict, Reason, Verdict
from brokerlab.studies.record import has_ended
from brokerlab.workload.estimate import Estimate
from synthetic import environment
from synthetic_tables import write_table

# label of a cell, metric and a number that differs for every execution -> value; None where it has none
Truth = Callable[[str, str, int], float | None]

STUDY = """\
name: tiny
title: A tiny study
differs: [no broker at all]
scales:
  quick:
    repeats: {least: 4, most: 8}
    phases: {warm_up: 1s, measure: 5s}
experiments:
  - id: rates
    workload: rates.yaml
    cells:
      slow: {producers.rate: 100/s}
      fast: {producers.rate: {quick: 200/s}}
      other: {producers.rate: 300/s, producers.message: 300B}
    figures:
      6: {title: Rates, cells: ["*"], metric: sent_per_s, x: configured rate}
claims:
  - id: twice
    says: fast is twice slow
    measure: ratio(fast, slow, sent_per_s)
    published: {value: 2.0, range: [1.9, 2.1], where: figure 6}
    holds: 1.5 to 2.5
  - id: open
    says: other is faster than fast
    measure: ratio(other, fast, sent_per_s)
    holds: "> 1"
"""
WORKLOAD = """\
name: tiny-rates
question: How fast?
broker: memory
producers: {rate: 1_000/s, message: 200B}
consumers: {}
phases: {measure: 5s}
repeats: 4
retries: 0
"""
PUBLISHED = "figure,series,x,y,low,high,cell,note\n6,study,100,90,80,95,slow,read off\n6,study,200,,,,fast,words only\n"


def write_study(folder: Path, study: str = STUDY, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"study.yaml": study, "rates.yaml": WORKLOAD, "published.csv": PUBLISHED} | {
        name.replace("_", "."): text for name, text in files.items()
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def write_measured_plan(
    root: Path,
    plan: RunPlan,
    truth: Truth,
    *,
    verdicts: Mapping[str, Mapping[str, Any]] | None = None,
    reasons: Sequence[Reason] = (),
    failed: Sequence[str] = (),
    drivers: Mapping[str, str] | None = None,
    metrics: Sequence[str] = ("sent_per_s", "received_per_s", "sent_bytes_per_s", "lost"),
) -> RunDirectory:
    """An analyzed run of the plan. `verdicts` changes what is said of a cell, by label; every execution of the labels in
    `failed` failed."""
    run = RunDirectory(root / plan.run)
    write_json(run.path / "plan.json", plan.model_dump(mode="json"))
    known = environment(plan)
    for cell in plan.cells:
        facts = CellEnvironment(
            broker=cell.broker, nodes=1, version="1", durability=DurabilityFacts(level=cell.durability.value),
            driver_path=(drivers or {}).get(cell.label, "python"),
        )  # fmt: skip
        known = known.with_cell(cell.cell, facts)
    write_json(run.path / "environment.json", known.model_dump(mode="json"))
    labels = {c.cell: c.label for c in plan.cells}
    states = {
        str(e): {"state": "failed", "reason": "it died"}
        if labels[e.cell] in failed
        else {"state": "finished", "started_unix_s": 1.0, "ended_unix_s": 7.0}
        for e in plan.order
    }
    write_json(run.path / "state.json", {"executions": states})
    rows: dict[str, list[dict[str, Any]]] = {table: [] for table in RESULT_TABLES}
    for cell in (c for c in plan.cells if c.label not in failed):
        for metric in metrics:
            _add_figures(rows, run.name, plan, cell, metric, truth)
    for name, table in RESULT_TABLES.items():
        write_table(run.path, table, rows[name])
    judged = tuple(_verdict(c, plan.repeats, (verdicts or {}).get(c.label, {}), c.label in failed) for c in plan.cells)
    verdict = Verdict(
        run=plan.run, verdict="valid", complete=True, headline="A run.", reasons=tuple(reasons), delivery={},
        delivery_violated=False, objectives=(), cells=judged, quarantined=(),
    )  # fmt: skip
    write_json(run.verdict_file, verdict.model_dump(mode="json"))
    return run


def _add_figures(
    rows: Mapping[str, list[dict[str, Any]]], run: str, plan: RunPlan, cell: Any, metric: str, truth: Truth
) -> None:
    salt = 100 * int((plan.tag or "0").rpartition("-")[2])  # the step's number: a pass has a random id, values must not
    values = {r: truth(cell.label, metric, salt + r) for r in range(1, plan.repeats + 1)}
    found = {r: float(v) for r, v in values.items() if v is not None}
    if not found:
        return
    of = {"run": run, "cell": cell.cell, "metric": metric, "unit": METRICS[metric].unit}
    rows["execution_figure"].extend(of | {"repeat": r, "value": v, "counted": True} for r, v in found.items())
    middle, least, most = sorted(found.values())[len(found) // 2], min(found.values()), max(found.values())
    rows["run_summary"].append(
        of | {"label": cell.label, "broker": cell.broker, "durability": "L4", "n": len(found), "median": middle, "low": least,
              "high": most, "values": list(found.values())}
    )  # fmt: skip


def _verdict(cell: Any, repeats: int, changes: Mapping[str, Any], failed: bool) -> CellVerdict:
    facts: dict[str, Any] = {
        "cell": cell.cell, "label": cell.label, "verdict": "valid", "repeats_planned": repeats,
        "repeats_finished": 0 if failed else repeats, "repeats_counted": 0 if failed else repeats,
        "durability_declared": "L4", "durability_computed": "L4",
    }  # fmt: skip
    return CellVerdict(**{**facts, **changes})


class FakeLab:
    """Plans as lab does; its runs have values from `truth`. `interrupt_at` is the number of the run that is cut off."""

    def __init__(self, root: Path, truth: Truth, **given: Any) -> None:
        self.root, self.truth, self.given = root, truth, given
        self.ran: list[RunPlan] = []
        self.interrupt_at = 0
        self.no_brokers: tuple[str, ...] = ()

    def plan(self, workload: Path, overrides: list[str]) -> RunPlan:
        return lab.plan(workload, overrides=overrides)

    def estimate(self, plan: RunPlan) -> Estimate:
        return lab.estimate(plan)

    def install(self, broker: str) -> None:
        if broker in self.no_brokers:
            raise InstallError("no network")

    def run(self, plan: RunPlan) -> RunDirectory:
        self.ran.append(plan)
        if len(self.ran) == self.interrupt_at:
            run = write_measured_plan(self.root, plan, self.truth, **self.given)
            state = run.state()
            last = str(plan.order[-1])
            write_json(run.path / "state.json", state.model_copy(
                update={"executions": {k: v for k, v in state.executions.items() if k != last}}
            ).model_dump(mode="json"))  # fmt: skip
            run.verdict_file.unlink()
            assert not has_ended(run)
            raise InterruptedRunError("interrupted")
        return write_measured_plan(self.root, plan, self.truth, **self.given)

    def analyze(self, run: RunDirectory) -> None:
        write_measured_plan(self.root, run.plan(), self.truth, **self.given)
