"""What is known about each execution as a whole: did it finish, is its evidence whole, was it drained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from brokerlab.model.events import Drain, event_of
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import RunPlan
from brokerlab.model.state import RunState
from brokerlab.results.executions import all_executions

COUNTED = ("sequence", "outcome")  # tables of which a missing piece changes delivery counts
DEATHS = ("agent_died",)


@dataclass(frozen=True)
class ExecutionFacts:
    """One group of one execution. `group` is empty where a cell has no consumers.

    whole: no evidence of sends or arrivals is missing. drained: everything that could arrive has; never true unless
    whole, because a missing segment looks like lost messages.
    """

    cell: str
    repeat: int
    group: str
    whole: bool
    drained: bool


def execution_facts(
    plan: RunPlan,
    state: RunState,
    *,
    with_evidence: set[str],
    unreadable: Iterable[tuple[str, str]],
    groups: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
    rejected: Sequence[Mapping[str, Any]],
) -> list[ExecutionFacts]:
    """One entry per execution with evidence and group of it, in the plan's order.

    `unreadable` are (execution, table) of unreadable segments; `groups` the groups that left evidence; `events` and
    `rejected` rows of the silver event and the quarantined_row tables. A group that left nothing is still accounted
    for: all of its messages are missing.
    """
    seen: dict[str, set[str]] = {}
    for row in groups:
        seen.setdefault(str(ExecutionId.of(row)), set()).add(row["group"])
    broken = {execution for execution, table in unreadable if table in COUNTED}
    broken |= {str(ExecutionId.of(r)) for r in rejected if r["table"] in COUNTED}
    broken |= {str(ExecutionId.of(e)) for e in events if e["kind"] in DEATHS}
    drains = drain_results(events)
    facts = []
    for execution in all_executions(plan, state):
        name = str(execution)
        if name not in with_evidence:
            continue
        finished = state.of(execution).state == "finished"
        whole = finished and name not in broken
        cell = next(c for c in plan.cells if c.cell == execution.cell)
        wanted = [group for of in cell.consumer_sets for group in of.group_names()]
        names = _all_groups(seen.get(name, set()), wanted)
        for group in names or [""]:
            drained = whole and (not names or (name in drains and drains[name].is_complete(group)))
            facts.append(ExecutionFacts(execution.cell, execution.repeat, group, whole, drained))
    return facts


def _all_groups(seen: set[str], wanted: Sequence[str]) -> list[str]:
    """The groups seen, and the short names of those that left nothing."""
    known = {name.rpartition("-")[2] for name in seen}
    missing = max(len(wanted) - len(seen), 0)
    return sorted(seen) + [name for name in wanted if name not in known][:missing]


def drain_results(events: Sequence[Mapping[str, Any]]) -> dict[str, Drain]:
    """By execution, its last drain event; an execution without one is not in it."""
    found: dict[str, Drain] = {}
    for row in sorted(events, key=lambda e: e["at_mono_ns"]):
        event = event_of(row)
        if isinstance(event, Drain):
            found[str(ExecutionId.of(row))] = event
    return found
