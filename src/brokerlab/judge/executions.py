"""Each execution judged by its reasons: which of its figures hold, and whether it may be set aside.

Only what the machine or our own agents spoiled may be set aside, and only where every message of it arrived as it
should: loss, duplicates, reordering, corruption, unknown outcomes and deaths are results, never bad luck.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from brokerlab.judge.findings import Findings
from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.verdict import ASPECTS, Answer, Aspect, Reason

SPOILERS = ("machine", "agent")
AMISS = ("rejected", "unknown", "lost", "duplicated", "reordered", "corrupted", "unexpected")


@dataclass(frozen=True)
class JudgedExecution:
    """`may_be_set_aside` is None, or the reason for which it may be."""

    execution: ExecutionId
    is_finished: bool
    answers: dict[Aspect, Answer]
    reasons: tuple[Reason, ...]  # those that decide, gravest first
    may_be_set_aside: Reason | None

    def holds(self, aspect: Aspect) -> bool:
        return self.is_finished and self.answers[aspect] == "valid"


def worst(reasons: Iterable[Reason]) -> Answer:
    weights = {r.weight for r in reasons}
    if "invalid" in weights:
        return "invalid"
    return "cannot tell" if "cannot tell" in weights else "valid"


def spoiler(reasons: Iterable[Reason]) -> Reason | None:
    """The gravest reason for which an execution does not count although the broker did nothing wrong."""
    return next((r for r in reasons if r.weight != "note" and r.cause in SPOILERS), None)


def judged_executions(f: Findings, reasons: Iterable[Reason]) -> dict[ExecutionId, JudgedExecution]:
    """Every execution of the plan and every extra one. `reasons` are those of the run, gravest first."""
    of: dict[tuple[str, int | None], list[Reason]] = defaultdict(list)
    for reason in reasons:
        if reason.weight != "note":
            of[reason.cell, reason.repeat].append(reason)
    amiss = {
        ExecutionId.of(row) for row in f.rows("delivery") if any(row[name] for name in AMISS) or not row["drained"]
    }
    return {e: _judged(f, e, of[e.cell, e.repeat], is_amiss=e in amiss) for e in f.executions}


def _judged(f: Findings, execution: ExecutionId, mine: list[Reason], *, is_amiss: bool) -> JudgedExecution:
    finished = f.is_finished(execution)
    may = finished and not is_amiss and not f.cell(execution.cell).faults
    return JudgedExecution(
        execution=execution,
        is_finished=finished,
        answers={aspect: worst(r for r in mine if aspect in r.affects) for aspect in ASPECTS},
        reasons=tuple(mine),
        may_be_set_aside=spoiler(mine) if may else None,
    )
