"""Objectives, judged on the worst repeat and group of each cell: met means met every time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import numpy as np

from brokerlab.judge.findings import Findings
from brokerlab.judge.tailing import tailing_groups
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.histogram import quantile_ns
from brokerlab.model.metrics import MEASURES, OF_DELIVERIES
from brokerlab.model.plan import CellPlan, Objective, Phase
from brokerlab.model.quantiles import fewest_samples
from brokerlab.results.tables import NO_GROUP, OF_SENDS
from brokerlab.results.verdict import ASPECTS, ObjectiveResult, Reason

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Measured:
    """One repeat's (and group's) value. `sure_if_met`, `sure_if_missed`: may it be said, if that is how it compares?"""

    value: float
    sure_if_met: bool = True
    sure_if_missed: bool = True


def objective_results(
    findings: Findings, counted: Collection[ExecutionId]
) -> tuple[list[ObjectiveResult], list[Reason]]:
    """Every objective for every cell, and a reason for each that could not be judged because that crashed.

    Rates and latencies are those of the executions that count, messages those of all: none is set aside. Unmeasured, not
    drained, too few samples or a crash: cannot tell.
    """
    results, failures = [], []
    for cell in findings.plan.cells:
        for objective in findings.plan.objectives:
            try:
                results.append(_judged(findings, objective, cell, counted))
            except Exception as e:
                results.append(_result(objective, cell, "cannot tell", None))
                failures.append(_failure(objective, cell, e))
    return results, failures


def _result(objective: Objective, cell: CellPlan, met: str, value: float | None) -> ObjectiveResult:
    return ObjectiveResult.model_validate(
        {"text": objective.text, "cell": cell.cell, "met": met, "value": value, "limit": objective.limit}
    )


def _failure(objective: Objective, cell: CellPlan, error: Exception) -> Reason:
    text = f"the objective {objective.text} could not be judged: {type(error).__name__}: {error}"
    return Reason(code="check_failed", weight="cannot tell", affects=ASPECTS, cell=cell.cell, repeat=None, text=text)


def _judged(
    findings: Findings, objective: Objective, cell: CellPlan, counted: Collection[ExecutionId]
) -> ObjectiveResult:
    values = list(_values(findings, objective, cell, counted))
    holds = _COMPARE[objective.comparison]

    if not values:
        return _result(objective, cell, "cannot tell", None)
    worst = max(values, key=lambda m: _distance(objective, m.value)).value
    if any(not holds(m.value, objective.limit) and m.sure_if_missed for m in values):
        return _result(objective, cell, "missed", worst)
    if all(holds(m.value, objective.limit) and m.sure_if_met for m in values):
        return _result(objective, cell, "met", worst)
    return _result(objective, cell, "cannot tell", worst)


def _distance(objective: Objective, value: float) -> float:
    """How bad a value is: larger is worse."""
    if objective.comparison == "==":
        return abs(value - objective.limit)
    return value if objective.comparison in ("<", "<=") else -value


def _values(
    findings: Findings, objective: Objective, cell: CellPlan, counted: Collection[ExecutionId]
) -> Iterable[Measured]:
    if objective.measure in MEASURES:
        yield from _latencies(findings, objective, cell, counted)
    elif objective.measure in ("throughput", "sent_per_s", "received_per_s"):
        side = "received_per_s" if cell.groups else "sent_per_s"
        metric = side if objective.measure == "throughput" else objective.measure
        of = findings.figures.get((cell.cell, metric), {})
        yield from (Measured(v) for r, v in of.items() if ExecutionId(cell=cell.cell, repeat=r) in counted)
    else:
        yield from _counts(findings, objective, cell)


def _latencies(
    findings: Findings, objective: Objective, cell: CellPlan, counted: Collection[ExecutionId]
) -> Iterable[Measured]:
    """The quantile asked for, from the merged histogram; the mean when none is asked for.

    Where some consumers start later than others, of those that tail. What has not arrived yet can only make a latency worse: without a drain "missed" is sure and "met" is not.
    """
    drained = {(r["repeat"], r["group"]): r["drained"] for r in findings.rows("delivery") if r["cell"] == cell.cell}
    exact = {
        (r["repeat"], r["group"]): r
        for r in findings.rows("latency_per_phase")
        if (r["cell"], r["measure"], r["phase"]) == (cell.cell, objective.measure, Phase.MEASURE.value)
    }
    for row in findings.rows("latency_histogram"):
        if (row["cell"], row["measure"], row["phase"]) != (cell.cell, objective.measure, Phase.MEASURE.value):
            continue
        if ExecutionId.of(row) not in counted or (
            row["group"] and cell.set_of(row["group"]).starts_late and tailing_groups(cell)
        ):
            continue
        counts = np.asarray(row["count"], np.int64)
        key = (row["repeat"], row["group"])
        whole = objective.measure not in OF_DELIVERIES or drained.get(key, False)
        if objective.quantile is None:
            yield Measured(float(exact[key]["mean_ns"]), sure_if_met=whole)
            continue
        enough = int(counts.sum()) >= fewest_samples(objective.quantile)
        value = quantile_ns(np.asarray(row["bucket"], np.int32), counts, objective.quantile, exact[key]["max_ns"])
        yield Measured(float(value), sure_if_met=enough and whole, sure_if_missed=enough)


def _counts(findings: Findings, objective: Objective, cell: CellPlan) -> Iterable[Measured]:
    """A delivery count. Without a drain `lost` says nothing; other faults seen so far are facts, their absence is not."""
    for row in findings.rows("delivery"):
        if row["cell"] == cell.cell and objective.measure in row:
            drained = bool(row["drained"]) and row["group"] != NO_GROUP
            said = drained or objective.measure in OF_SENDS
            missed = said or objective.measure not in ("lost", "unknown_absent", "received", "delivered")
            yield Measured(float(row[objective.measure]), sure_if_met=said, sure_if_missed=missed)
