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
    judged = {a: _judged_aspect(a, mine, counting, enough, of_run) for a in ASPECTS}
    verdict = min((judged[a].answer for a in needs), key=ORDER.index)
    doubted = [judged[a] for a in needs if judged[a].answer == verdict]
    return JudgedCell(
        CellVerdict(
            cell=cell.cell,
            label=cell.label,
            verdict=verdict,
            **{a: judged[a].answer for a in ASPECTS},
            needs=needs,
            because="" if verdict == "valid" else _because(doubted, mine, set_aside=spoiled if sets_aside else ()),
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


@dataclass(frozen=True)
class _JudgedAspect:
    """The answer, and the reasons that make it so: none where too few executions finished."""

    answer: Answer
    reasons: tuple[Reason, ...] = ()


def _judged_aspect(
    aspect: Aspect, mine: Sequence[JudgedExecution], counting: Sequence[JudgedExecution], enough: int, of_run: Sequence[Reason]
) -> _JudgedAspect:  # fmt: skip
    always = [r for e in mine for r in e.reasons if aspect == "delivery" or _is_final(r, e)]
    certain = [r for r in (*of_run, *always) if aspect in r.affects]
    answer = worst(certain)
    told = _JudgedAspect(answer, tuple(r for r in certain if r.weight == answer))
    if aspect == "delivery" or sum(e.holds(aspect) for e in counting) >= enough:
        return told
    return min((told, _what_most_say(aspect, mine, counting)), key=lambda judged: ORDER.index(judged.answer))


def _is_final(reason: Reason, execution: JudgedExecution) -> bool:
    """Deaths and failures are results: no number of other executions makes up for one."""
    return not execution.is_finished and reason.weight == "invalid"


def _what_most_say(
    aspect: Aspect, mine: Sequence[JudgedExecution], counting: Sequence[JudgedExecution]
) -> _JudgedAspect:
    """Invalid where one cause spoils more than half of the executions, and it is one that invalidates."""
    of = [r for e in counting for r in e.reasons if aspect in r.affects]
    grave = [r for r in of if _invalidates(r)]
    most = {code for code, n in _spread(grave).items() if n > len(counting) / 2}
    if most:
        return _JudgedAspect("invalid", tuple(r for r in grave if r.code in most))
    unfinished = [r for e in mine if not e.is_finished for r in e.reasons if aspect in r.affects]
    return _JudgedAspect("cannot tell", (*of, *unfinished))


def _invalidates(reason: Reason) -> bool:
    return reason.weight == "invalid" or reason.cause in SPOILERS


def _spread(reasons: Iterable[Reason]) -> Counter[str]:
    """In how many executions each code is found."""
    return Counter(code for code, _ in {(r.code, r.repeat) for r in reasons})


def _because(
    doubted: Iterable[_JudgedAspect], mine: Sequence[JudgedExecution], set_aside: Sequence[JudgedExecution]
) -> str:
    """The reason that concerns the whole cell, or else the commonest, with how many executions it concerns."""
    reasons = [r for aspect in doubted for r in aspect.reasons]
    if not reasons:
        return "no repeat finished" if not any(e.is_finished for e in mine) else "too few repeats hold"
    general = next((r for r in reasons if r.repeat is None), None)
    if general is not None or len(mine) == 1:
        return (general or reasons[0]).text
    spread = _spread(reasons)
    chosen = max(reasons, key=lambda r: spread[r.code])
    concerned = {r.repeat for r in reasons if r.code == chosen.code}
    if not set_aside or concerned & {e.execution.repeat for e in set_aside}:
        return f"{chosen.text} ({len(concerned)} of {len(mine)} executions)"
    rest = len(mine) - len(set_aside)
    more = f"{len(set_aside)} more {'was' if len(set_aside) == 1 else 'were'} set aside"
    return f"{chosen.text} ({len(concerned)} of {rest} executions; {more})"


def _named(execution: JudgedExecution) -> SetAside:
    reason = execution.may_be_set_aside
    assert reason is not None
    return SetAside(repeat=execution.execution.repeat, code=reason.code, text=reason.text)
