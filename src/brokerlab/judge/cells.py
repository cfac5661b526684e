"""Each cell judged by its executions.

Delivery is as good as the worst execution: every message counts. Rates and latencies hold where enough executions hold;
one that the machine or our own agents spoiled is set aside. Where most executions are spoiled by one cause, it is not
chance: the cell is invalid with that cause, and nothing is set aside.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from brokerlab.judge import limits
from brokerlab.judge.executions import SPOILERS, JudgedExecution, worst
from brokerlab.judge.findings import Findings, is_closed
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.metrics import MEASURES
from brokerlab.model.plan import CellPlan, RunPlan
from brokerlab.results.verdict import ASPECTS, Answer, Aspect, CellVerdict, Reason, SetAside

ORDER: tuple[Answer, ...] = ("invalid", "cannot tell", "valid")


@dataclass(frozen=True)
class JudgedCell:
    """The verdict, and the executions whose figures count in its medians."""

    verdict: CellVerdict
    counted: frozenset[ExecutionId]


def needed_aspects(plan: RunPlan, cell: CellPlan) -> tuple[Aspect, ...]:
    """What the question is about: in a closed loop latencies follow from the window, unless an objective asks for one."""
    asks_latency = any(o.measure in MEASURES for o in plan.objectives)
    return ("delivery", "rates") if is_closed(cell) and not asks_latency else ASPECTS


def judged_cell(
    f: Findings, cell: CellPlan, executions: Mapping[ExecutionId, JudgedExecution], of_run: Sequence[Reason], durability: str | None
) -> JudgedCell:  # fmt: skip
    """`of_run` are deciding reasons that concern every cell."""
    mine = [executions[e] for e in f.of_cell(cell.cell)]
    finished = [e for e in mine if e.is_finished]
    spoiled = [e for e in finished if e.may_be_set_aside is not None]
    planned = sum(e.cell == cell.cell for e in f.plan.order)
    enough = math.ceil(limits.ENOUGH_SHARE * planned)
    rest = [e for e in finished if e.may_be_set_aside is None]
    sets_aside = len(rest) >= enough and not _one_cause_for_most(spoiled, len(finished))
    counting = rest if sets_aside else finished
    # Extra executions that were spoiled as well must not make the few that hold look like enough.
    enough = max(enough, math.ceil(limits.ENOUGH_SHARE * len(counting)))
    needs = needed_aspects(f.plan, cell)
    answers = {a: _answer(a, mine, counting, enough, of_run) for a in ASPECTS}
    verdict = min((answers[a] for a in needs), key=ORDER.index)
    return JudgedCell(
        CellVerdict(
            cell=cell.cell,
            label=cell.label,
            verdict=verdict,
            **answers,
            needs=needs,
            because="" if verdict == "valid" else _because(verdict, needs, mine, of_run),
            repeats_planned=planned,
            repeats_finished=len(finished),
            repeats_counted=len(counting),
            set_aside=tuple(_named(e) for e in spoiled) if sets_aside else (),
            durability_declared=cell.durability.value,
            durability_computed=durability,
        ),
        frozenset(e.execution for e in counting),
    )


def _one_cause_for_most(spoiled: Iterable[JudgedExecution], of: int) -> bool:
    codes = Counter(e.may_be_set_aside.code for e in spoiled if e.may_be_set_aside is not None)
    return any(n > of / 2 for n in codes.values())


def _answer(
    aspect: Aspect, mine: Sequence[JudgedExecution], counting: Sequence[JudgedExecution], enough: int, of_run: Sequence[Reason]
) -> Answer:  # fmt: skip
    final = [r for e in mine for r in e.reasons if _is_final(r, e)]
    answers = [worst(r for r in (*of_run, *final) if aspect in r.affects)]
    if aspect == "delivery":
        answers += [e.answers[aspect] for e in mine]
    answer = min(answers, key=ORDER.index)
    if answer != "valid" or aspect == "delivery" or sum(e.holds(aspect) for e in counting) >= enough:
        return answer
    return _what_most_say(aspect, counting)


def _is_final(reason: Reason, execution: JudgedExecution) -> bool:
    """Deaths and failures are results: no number of other executions makes up for one."""
    return not execution.is_finished and reason.weight == "invalid"


def _what_most_say(aspect: Aspect, counting: Sequence[JudgedExecution]) -> Answer:
    """Invalid where one cause spoils more than half of the executions, and it is one that invalidates."""
    codes = Counter(
        code for e in counting for code in {r.code for r in e.reasons if aspect in r.affects and _invalidates(r)}
    )
    return "invalid" if any(n > len(counting) / 2 for n in codes.values()) else "cannot tell"


def _invalidates(reason: Reason) -> bool:
    return reason.weight == "invalid" or reason.cause in SPOILERS


def _because(
    verdict: Answer, needs: Sequence[Aspect], mine: Sequence[JudgedExecution], of_run: Sequence[Reason]
) -> str:
    """The commonest deciding reason of a needed aspect, with how many executions it concerns."""
    if of_run:
        return of_run[0].text
    deciding = [r for e in mine for r in e.reasons if set(r.affects) & set(needs)]
    if verdict == "invalid":
        deciding = [r for r in deciding if _invalidates(r)] or deciding
    if not deciding:
        return "no repeat finished" if not any(e.is_finished for e in mine) else "too few repeats hold"
    spread = Counter(code for e in mine for code in {r.code for r in e.reasons})
    chosen = max(deciding, key=lambda r: spread[r.code])
    n = spread[chosen.code]
    return chosen.text + (f" ({n} of {len(mine)} executions)" if len(mine) > 1 else "")


def _named(execution: JudgedExecution) -> SetAside:
    reason = execution.may_be_set_aside
    assert reason is not None
    return SetAside(repeat=execution.execution.repeat, code=reason.code, text=reason.text)
