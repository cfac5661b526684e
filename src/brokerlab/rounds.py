"""The rounds of a run, and what stands in for an execution that was spoiled.

A round has every cell once. An execution that the machine or our own agents spoiled is kept, and at the end of its round
another one of its cell is run under the next free repeat number: at most `retries` extra ones for each cell. Where a
message did not arrive as it should, a node died or a fault was planned, it is a result, and nothing is run in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from brokerlab.judge.checks import AT_ONCE, all_reasons
from brokerlab.judge.executions import spoiler
from brokerlab.judge.figures import figures
from brokerlab.judge.findings import Findings
from brokerlab.judge.tailing import of_tailing
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import RunPlan
from brokerlab.results.at_once import tables_at_once
from brokerlab.results.directory import RunDirectory
from brokerlab.results.executions import all_executions
from brokerlab.results.run_state import ENDED
from brokerlab.results.tally import nothing_amiss
from brokerlab.results.verdict import Reason


@dataclass(frozen=True)
class Extra:
    """An execution beyond the plan: in place of which repeat, and what spoiled the one before it."""

    execution: ExecutionId
    replaces: int
    why: str


def rounds(plan: RunPlan) -> list[list[ExecutionId]]:
    return [list(cells) for _, cells in groupby(plan.order, key=lambda e: e.repeat)]


def extra_in_place_of(plan: RunPlan, directory: RunDirectory, execution: ExecutionId) -> Extra | None:
    """What is still to be run in place of a planned execution that has ended; None where it holds, where it is a result,
    or where its cell has no more extra executions. An extra one that was interrupted is given again."""
    state = directory.state()
    extras = [e for e in all_executions(plan, state)[len(plan.order) :] if e.cell == execution.cell]
    latest = next((e for e in reversed(extras) if state.of(e).replaces == execution.repeat), execution)
    if latest is not execution and state.of(latest).state not in ENDED:
        return Extra(latest, execution.repeat, state.of(latest).why or "interrupted")
    reason = spoiled(plan, directory, latest)
    if reason is None or len(extras) >= plan.retries:
        return None
    repeat = max([plan.repeats, *(e.repeat for e in extras)]) + 1
    return Extra(ExecutionId(cell=execution.cell, repeat=repeat), execution.repeat, reason.text)


def spoiled(plan: RunPlan, directory: RunDirectory, execution: ExecutionId) -> Reason | None:
    """The reason for which a finished execution does not count although the broker did nothing wrong."""
    cell = next(c for c in plan.cells if c.cell == execution.cell)
    state = directory.state()
    if state.of(execution).state != "finished" or cell.faults:
        return None
    try:
        tables = tables_at_once(directory, execution)
        findings = Findings(
            plan=plan,
            state=state,
            environment=directory.environment(),
            tables=tables,
            figures=figures(
                of_tailing(plan, tables["rate_per_second"]),
                of_tailing(plan, tables["latency_per_phase"]),
                [],
                tables["agent_health"],
            ),
        )
        reason = spoiler(r for r in all_reasons(findings, AT_ONCE) if r.repeat == execution.repeat)
        return reason if reason is not None and nothing_amiss(directory, execution) else None
    except OSError:  # damaged evidence is kept too: the analysis tells of it
        return None
