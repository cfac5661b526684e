"""The verdict of a run: its executions judged, then its cells, then what may be believed in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from brokerlab.judge.cells import ORDER, JudgedCell, judged_cell
from brokerlab.judge.checks import WEIGHTS, all_reasons
from brokerlab.judge.choice_checks import set_aside_matters
from brokerlab.judge.comparison import comparison
from brokerlab.judge.executions import judged_executions
from brokerlab.judge.figures import Row, is_said
from brokerlab.judge.findings import Findings
from brokerlab.judge.headline import headline
from brokerlab.judge.objectives import objective_results
from brokerlab.judge.summary import computed_durability, run_summary
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.metrics import METRICS
from brokerlab.results.fault_text import fault_sentence
from brokerlab.results.tables import DELIVERY, OF_SENDS
from brokerlab.results.verdict import ASPECTS, Answer, CellVerdict, FaultResult, Reason, Verdict


@dataclass(frozen=True)
class Judgement:
    """The verdict, the executions that count, and the rows of run_summary and comparison made of them."""

    verdict: Verdict
    counted: frozenset[ExecutionId]
    summary: list[dict[str, Any]]
    comparison: list[dict[str, Any]]


def judge(findings: Findings, unreadable: Sequence[str] = ()) -> Judgement:
    """`unreadable` are the segments that could not be read, with the reason each."""
    reasons = all_reasons(findings)
    cells = _cells(findings, reasons)
    counted = frozenset(e for cell in cells for e in cell.counted)
    summary = run_summary(findings.figures, findings.plan, findings.environment, counted.__contains__)
    doubts = all_reasons(replace(findings, summary=summary), (set_aside_matters,))
    objectives, failures = objective_results(findings, counted)
    if doubts or failures:
        reasons = sorted([*reasons, *doubts, *failures], key=lambda r: WEIGHTS.index(r.weight))
        cells = _cells(findings, reasons)
    delivery = delivery_sums(findings.rows("delivery"))
    violated = delivery_violated(findings.rows("delivery"))
    judged = tuple(cell.verdict for cell in cells)
    answer: Answer = min((c.verdict for c in judged), key=ORDER.index)
    verdict = Verdict(
        run=findings.plan.run,
        verdict=answer,
        complete=all(findings.is_finished(e) for e in findings.plan.order),
        headline=headline(judged, delivery, objectives, violated=violated),
        reasons=tuple(reasons),
        delivery=delivery,
        delivery_violated=violated,
        objectives=tuple(objectives),
        cells=judged,
        faults=tuple(FaultResult(**row, text=fault_sentence(row)) for row in findings.rows("fault")),
        quarantined=tuple(unreadable),
    )
    return Judgement(verdict, counted, summary, _comparison(findings, judged, counted))


def _comparison(
    findings: Findings, cells: Sequence[CellVerdict], counted: frozenset[ExecutionId]
) -> list[dict[str, Any]]:
    """Of the counted executions, each in the round of the repeat that it is or stands in for."""
    answers = {(c.cell, aspect): getattr(c, aspect) for c in cells for aspect in ASPECTS}
    by_round = {
        (cell, metric): {
            findings.state.of(e).replaces or repeat: value
            for repeat, value in values.items()
            if (e := ExecutionId(cell=cell, repeat=repeat)) in counted
        }
        for (cell, metric), values in findings.figures.items()
    }

    def believes(cell: str, metric: str) -> bool:
        return bool(answers[cell, METRICS[metric].aspect] == "valid")

    return comparison(by_round, findings.plan, findings.environment, believes)


def _cells(findings: Findings, reasons: Sequence[Reason]) -> list[JudgedCell]:
    executions = judged_executions(findings, reasons)
    general = [r for r in reasons if r.weight != "note" and r.repeat is None]
    return [
        judged_cell(
            findings,
            cell,
            executions,
            [r for r in general if r.cell in ("", cell.cell)],
            computed_durability(findings.environment, cell.cell),
        )
        for cell in findings.plan.cells
    ]


def delivery_sums(rows: Sequence[Row]) -> dict[str, int]:
    """Sums over all executions, those of sends once per repeat. A count that is nowhere a statement is left out; and that
    none were lost is one only where all were drained."""
    names = [c.name for c in DELIVERY.columns if c.type == "long"]
    sums = dict.fromkeys(OF_SENDS, 0)
    seen: set[ExecutionId] = set()
    for row in rows:
        repeated = ExecutionId.of(row) in seen
        seen.add(ExecutionId.of(row))
        for name in names:
            if is_said(name, row):
                sums[name] = sums.get(name, 0) + (0 if repeated and name in OF_SENDS else row[name])
    if sums.get("lost") == 0 and not all(row["drained"] for row in rows):
        del sums["lost"]
    return sums


def delivery_violated(rows: Iterable[Row]) -> bool:
    """Lost after a full drain, corrupted or unexpected: facts, whatever the rates are worth."""
    return any((r["lost"] > 0 and r["drained"]) or r["corrupted"] > 0 or r["unexpected"] > 0 for r in rows)
