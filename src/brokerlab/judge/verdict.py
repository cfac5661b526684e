"""The verdict: a pure function of the small tables, the plan, the runner's state and the environment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from brokerlab.judge.checks import all_reasons
from brokerlab.judge.findings import Findings
from brokerlab.judge.objectives import objective_results
from brokerlab.judge.summary import Row, computed_durability, is_said
from brokerlab.results.fault_text import fault_sentence
from brokerlab.results.tables import DELIVERY, OF_SENDS
from brokerlab.results.verdict import Answer, CellVerdict, FaultResult, ObjectiveResult, Reason, Verdict


def make_verdict(findings: Findings, quarantined: Sequence[str] = ()) -> Verdict:
    """Worst wins, for a cell and for the run. Delivery is judged apart from validity."""
    reasons = all_reasons(findings)
    if not findings.with_evidence:
        text = "there is no evidence at all: nothing was measured"
        reasons.insert(0, Reason(code="no_evidence", weight="invalid", cell="", repeat=None, text=text))
    delivery = delivery_sums(findings.rows("delivery"))
    violated = delivery_violated(findings.rows("delivery"))
    finished = _finished(findings)
    objectives, failures = _objectives(findings)
    reasons += failures
    answer = worst(reasons)
    return Verdict(
        run=findings.plan.run,
        verdict=answer,
        complete=all(e in finished for e in _planned(findings)),
        headline=headline(answer, reasons, delivery, violated, objectives, len(finished), len(findings.plan.order)),
        reasons=tuple(reasons),
        delivery=delivery,
        delivery_violated=violated,
        objectives=tuple(objectives),
        cells=tuple(_cells(findings, reasons, finished)),
        faults=tuple(FaultResult(**row, text=fault_sentence(row)) for row in findings.rows("fault")),
        quarantined=tuple(quarantined),
    )


def worst(reasons: Iterable[Reason]) -> Answer:
    weights = {r.weight for r in reasons}
    if "invalid" in weights:
        return "invalid"
    return "cannot tell" if "cannot tell" in weights else "valid"


def delivery_sums(rows: Sequence[Row]) -> dict[str, int]:
    """Sums over the run, those of sends once per repeat. A count that is nowhere a statement is left out; and that none
    were lost is one only where all were drained."""
    names = [c.name for c in DELIVERY.columns if c.type == "long"]
    sums = dict.fromkeys(OF_SENDS, 0)
    seen: set[tuple[str, int]] = set()
    for row in rows:
        repeated = (row["cell"], row["repeat"]) in seen
        seen.add((row["cell"], row["repeat"]))
        for name in names:
            if is_said(name, row):
                sums[name] = sums.get(name, 0) + (0 if repeated and name in OF_SENDS else row[name])
    if sums.get("lost") == 0 and not all(row["drained"] for row in rows):
        del sums["lost"]
    return sums


def delivery_violated(rows: Iterable[Row]) -> bool:
    """Lost after a full drain, corrupted or unexpected: facts, whatever the rates are worth."""
    return any((r["lost"] > 0 and r["drained"]) or r["corrupted"] > 0 or r["unexpected"] > 0 for r in rows)


def _planned(findings: Findings) -> list[str]:
    return list(map(str, findings.plan.order))


def _finished(findings: Findings) -> set[str]:
    return {str(e) for e in findings.plan.order if findings.execution_state(e.cell, e.repeat).state == "finished"}


def _objectives(findings: Findings) -> tuple[list[ObjectiveResult], list[Reason]]:
    """The results; if judging them crashes, none of them and the reason why."""
    try:
        return objective_results(findings), []
    except Exception as e:
        text = f"the objectives could not be judged: {type(e).__name__}: {e}"
        return [], [Reason(code="check_failed", weight="cannot tell", cell="", repeat=None, text=text)]


def _cells(findings: Findings, reasons: Sequence[Reason], finished: set[str]) -> Iterable[CellVerdict]:
    for cell in findings.plan.cells:
        planned = [e for e in findings.plan.order if e.cell == cell.cell]
        yield CellVerdict(
            cell=cell.cell,
            label=cell.label,
            verdict=worst(r for r in reasons if r.cell in (cell.cell, "")),
            repeats_planned=len(planned),
            repeats_finished=sum(str(e) in finished for e in planned),
            durability_declared=cell.durability.value,
            durability_computed=computed_durability(findings.environment, cell.cell),
        )


def headline(
    answer: Answer,
    reasons: Sequence[Reason],
    delivery: dict[str, int],
    violated: bool,
    objectives: Sequence[ObjectiveResult],
    finished: int,
    planned: int,
) -> str:
    """One sentence for people: what was violated first, then whether the numbers hold and why not."""
    faults = ", ".join(f"{delivery[n]:,} {n}" for n in ("lost", "corrupted", "unexpected") if delivery.get(n))
    missed = sum(o.met == "missed" for o in objectives)
    grave = next((r for r in reasons if r.weight != "note"), None)
    parts = []
    if violated:
        parts.append(f"Delivery violated: {faults} of {delivery['sent']:,} messages")
    if answer == "valid":
        parts.append(f"{'v' if parts else 'V'}alid: {finished} of {planned} repeats, {_account(delivery, violated)}")
    elif grave is not None:
        where = f" ({grave.cell}{'' if grave.repeat is None else f' repeat {grave.repeat}'})" if grave.cell else ""
        word = "invalid" if answer == "invalid" else "cannot tell"
        parts.append(f"{word if parts else word.capitalize()}: {grave.text}{where}")
        others = len({r.code for r in reasons if r.weight != "note"}) - 1
        if others:
            parts.append(f"{others} other reason{'s' if others > 1 else ''}")
    if missed:
        parts.append(f"{missed} objective{'s' if missed > 1 else ''} missed")
    return "; ".join(parts) + "."


def _account(delivery: dict[str, int], violated: bool) -> str:
    sent = f"{delivery['sent']:,} messages sent"
    if violated:
        return sent
    strange = ", ".join(
        f"{delivery[n]:,} {n}" for n in ("duplicated", "reordered", "unknown", "rejected") if delivery.get(n)
    )
    arrived = "none lost" if "lost" in delivery else "nobody was to receive them"
    return f"{sent}, {arrived}" + (f"; {strange}" if strange else "")
