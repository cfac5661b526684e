"""Every declared reason, once at least: what brings it about, and what it does to the answer of a run of one repeat."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from test_cells import run_of, spoil
from test_verdict_rules import (
    CASES,
    FAULT_ROW,
    START,
    changed,
    findings,
    finished,
    good_tables,
    judged,
    plan_with_a_fault,
    with_messages,
)

from brokerlab.judge.checks import AT_ONCE, CHECKS, SETS_ASIDE, all_reasons
from brokerlab.judge.choice_checks import set_aside_matters
from brokerlab.judge.executions import judged_executions
from brokerlab.judge.findings import Findings
from brokerlab.model.environment import CellEnvironment, ClockPair, ExecutionEnvironment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.machine_plan import NOT_LOADED, MachinePlan
from brokerlab.model.plan import RunPlan
from brokerlab.results.verdict import Answer, Weight
from synthetic import environment, make_plan

WHERE = {"cell": "c01", "repeat": 1}
FIRST = ExecutionId(**WHERE)  # type: ignore[arg-type]
MEMORY_BYTES = 512 << 20


@dataclass(frozen=True)
class Case:
    """`said` is part of the reason's text."""

    code: str
    weight: Weight
    answer: Answer
    found: Callable[[], Findings]
    said: str = ""


def planned(arrival: str = "uniform", repeats: int = 1, **of_cell: Any) -> RunPlan:
    plan = make_plan("run", cells=1, repeats=repeats, arrival=arrival)
    return plan.model_copy(update={"cells": (plan.cells[0].model_copy(update=of_cell),)})


def with_rows(table: str, *rows: dict[str, Any], plan: RunPlan | None = None) -> Findings:
    """Good tables and these rows of one execution."""
    tables = good_tables()
    return findings({**tables, table: [*tables.get(table, []), *({**WHERE, **row} for row in rows)]}, plan)


def with_event(kind: str, plan: RunPlan | None = None, state: str = "finished", **detail: Any) -> Findings:
    plan = plan or planned()
    event = {**WHERE, "source": "runner", "kind": kind, "at_mono_ns": 1, "detail": json.dumps(detail)}
    return findings(plan=plan, events=[event], state=finished(plan).with_facts(FIRST, state=state))


def with_state(repeats: int = 1, **facts: Any) -> Findings:
    """Repeats that are as they should be; these facts are of the last one."""
    found = run_of(repeats)
    return replace(found, state=found.state.with_facts(found.plan.order[-1], **facts))


def with_machine(
    machine: MachinePlan, metric: str = "", value: float = 0.0, subject: str = "process:kafka-1"
) -> Findings:
    """A cell that asks for this of the machine, and one reading; without a metric what was asked for is not read back."""
    row = {"second_unix_s": START + 3, "phase": "measure", "subject": subject, "metric": metric, "value": value}
    return with_rows("reading_per_second", *([row] if metric else []), plan=planned(machine=machine))


def with_cell(plan: RunPlan | None = None, **known: Any) -> Findings:
    plan = plan or planned()
    return findings(plan=plan, environment=environment(plan).with_cell("c01", CellEnvironment(**known)))


def with_floor(*said: str) -> Findings:
    """Nodes that were to have slower fsyncs, and what each of them said of the library that does it."""
    settings = {f"kafka-{i}": {"fsync_floor": words} for i, words in enumerate(said, 1)}
    plan = planned(machine=MachinePlan(fsync_floor_ns=2_000_000))
    return with_cell(plan, effective_settings=settings, executions={"1": ExecutionEnvironment()})


def with_a_stepped_clock() -> Findings:
    begin, end = ClockPair(mono_ns=0, unix_ns=0), ClockPair(mono_ns=10**9, unix_ns=3 * 10**9)
    return with_cell(executions={"1": ExecutionEnvironment(clock=begin, clock_end=end)})


def with_a_choice_that_matters() -> Findings:
    found = run_of(3, {4: 1})
    for repeat in (1, 2):
        spoil(found, repeat, late=False)
    found.figures["c01", "received_per_s"].update({1: 100.0, 2: 100.0})
    return found


def cut_short() -> Findings:
    tables = good_tables()
    rates = tables["rate_per_second"]
    return findings(tables | {"rate_per_second": [r for r in rates if not 5 <= r["second_unix_s"] - START < 10]})


def late_consumers() -> RunPlan:
    consumers = planned().cells[0].consumers
    return planned(consumers=consumers.model_copy(update={"start": "backlog", "start_backlog_bytes": 60_000_000}))


DIED: dict[str, Any] = {"state": "failed", "names": ["one"], "text": "FATAL"}
COURSE = [
    Case("no_evidence", "invalid", "invalid", lambda: findings(with_evidence=frozenset()), "nothing was measured"),
    Case("no_evidence", "invalid", "invalid", lambda: findings(plan=planned(repeats=2)), "finished, but left no evidence"),
    Case("broker_died", "invalid", "invalid", lambda: with_event("node_died", **DIED), "broker node one died"),
    Case("agent_died", "invalid", "invalid", lambda: with_event("agent_died", **DIED), "agent one died"),
    Case("broker_failed", "invalid", "invalid", lambda: with_event("broker_failed", state="failed", text="refused")),
    Case("failed", "invalid", "invalid", lambda: with_state(state="failed", reason="no space"), "failed: no space"),
    Case("repeat_missing", "cannot tell", "cannot tell", lambda: with_state(state="interrupted")),
    Case("repeat_missing", "note", "valid", lambda: with_state(4, state="waiting"), "has not run"),
    Case("segment_unreadable", "cannot tell", "cannot tell", lambda: findings(unreadable=(("c01-r1", "x: cut"),))),
    Case(
        "rows_quarantined", "cannot tell", "cannot tell",
        lambda: with_rows("quarantined_row", *({"table": "interval", "reason": f"sent < {n}"} for n in (0, 1))),
        "2 rows of interval broke a rule and were left out, the first: sent < 0",
    ),
    Case("too_short", "cannot tell", "invalid", cut_short),  # and what was due in the seconds that are not there
    Case(
        "backlog_not_reached", "cannot tell", "cannot tell",
        lambda: with_event("consumers_started", late_consumers(), sent_bytes=10_000_000, reached=False),
    ),
    Case("left_behind", "note", "valid", lambda: with_event("left_behind", what="a stream", what_to_do="delete it")),
    Case("errors", "note", "valid", lambda: findings(errors=[{**WHERE, "count": 1, "kind": "a", "text": "b"}])),
    Case("segment_left_out", "note", "valid", lambda: findings(left_out=(("c01-r1", "copy: the same as x"),))),
]  # fmt: skip
LOAD = [
    Case(
        "nothing_sent", "invalid", "invalid",
        lambda: findings(changed("rate_per_second", {"sent": 0}, role="producer", phase="measure"), planned("closed")),
    ),
    Case("number_not_reached", "note", "valid", lambda: findings(plan=with_messages(9_000, measure_s=8))),
    Case(
        "agent_paused", "invalid", "invalid",
        lambda: findings(changed("agent_health", {"longest_pause_ns": 3_000_000_000, "longest_pause_unix_s": START + 4})),
        "agent producer-1 did not run for 3.0 s at 00:16:44 UTC",
    ),
    Case(
        "client_blocked", "note", "valid",
        lambda: findings(changed("rate_per_second", {"buffer_full": 7}, role="producer", phase="measure")),
        "took fewer messages than were due in 8 s of the measure phase, first at 00:16:42 UTC",
    ),
    Case("no_consumers", "note", "valid", lambda: findings(changed("delivery", {"group": ""}))),
    Case(
        "counted_differently", "invalid", "invalid",
        lambda: with_rows("recount", {"group": "g1", "figure": "lost", "as_told": 0, "by_message": 2, "difference": 2}),
    ),
    Case("fault_missing", "invalid", "invalid", lambda: findings(plan=plan_with_a_fault())),
    Case(
        "planned_fault", "note", "valid",
        lambda: findings({**good_tables(), "fault": [FAULT_ROW]}, plan_with_a_fault()),
    ),
]  # fmt: skip
MACHINE = [
    Case("clock_stepped", "cannot tell", "invalid", with_a_stepped_clock),
    Case("disturbed", "note", "valid", lambda: with_state(disturbed=("0.9 of 2 cores were used by other programs",))),
    Case(
        "placement_left", "cannot tell", "invalid",
        lambda: with_machine(MachinePlan(node_cores=(0,)), "threads_outside_placement", 2.0),
    ),
    Case("share_exceeded", "cannot tell", "invalid", lambda: with_machine(MachinePlan(cpu_share_per_node=0.3))),
    Case(
        "memory_limit_missing", "cannot tell", "invalid",
        lambda: with_machine(MachinePlan(memory_limit_bytes_per_node=MEMORY_BYTES)),
        "the nodes' memory limit was not read back",
    ),
    Case(
        "memory_limit_missing", "cannot tell", "invalid",
        lambda: with_machine(
            MachinePlan(memory_limit_bytes_per_node=MEMORY_BYTES), "group_memory_limit_bytes", 2 * MEMORY_BYTES
        ),
        "a node's memory limit is 1,073,741,824 bytes, and 536,870,912 were asked for",
    ),
    Case("fsync_floor_missing", "cannot tell", "cannot tell", lambda: with_floor("2 ms", NOT_LOADED), "every node"),
    Case("fsync_floor_missing", "cannot tell", "cannot tell", lambda: with_floor(), "was not loaded"),
    Case("link_exceeded", "cannot tell", "invalid", lambda: with_machine(MachinePlan(link_bytes_per_s=30_000_000))),
    Case("kept_cluster", "note", "valid", lambda: with_cell(executions={"1": ExecutionEnvironment(cluster_executions=2)})),
    Case("confined", "note", "valid", lambda: findings(plan=planned(machine=MachinePlan(node_cores=(0,))))),
    Case("set_aside_matters", "cannot tell", "cannot tell", with_a_choice_that_matters),
]  # fmt: skip
OWN_CASES = [*COURSE, *LOAD, *MACHINE]


@pytest.mark.parametrize("case", OWN_CASES, ids=[f"{c.code}-{i}" for i, c in enumerate(OWN_CASES)])
def test_each_reason_has_its_weight_and_does_what_it_says(case: Case) -> None:
    verdict = judged(case.found())
    found = [r for r in verdict.reasons if r.code == case.code]
    assert case.weight in {r.weight for r in found}, [r.code for r in verdict.reasons]
    assert any(case.said in r.text for r in found), [r.text for r in found]
    assert verdict.verdict == case.answer
    assert "check_failed" not in {r.code for r in verdict.reasons}


def test_every_declared_reason_has_a_case() -> None:
    tried = {case.code for case in OWN_CASES} | {code for _, _, _, code, _ in CASES}
    assert tried == {check.code for check in (*CHECKS, set_aside_matters)}


def test_the_reasons_that_set_an_execution_aside_are_those_that_are_listed() -> None:
    """In one repeat, whether or not the rest of its cell would be enough."""
    made = [case.found() for case in OWN_CASES if case.code != "set_aside_matters"]
    made += [findings(changed(table, change, **only)) for table, change, only, _, _ in CASES]
    each = [e for found in made for e in judged_executions(found, all_reasons(found)).values()]
    assert {e.may_be_set_aside.code for e in each if e.may_be_set_aside is not None} == {c.code for c in SETS_ASIDE}


def test_what_the_runner_asks_at_once_may_all_be_set_aside() -> None:
    assert set(AT_ONCE) < set(SETS_ASIDE)


@pytest.mark.parametrize("beside", [0, -65_536, 65_536])
def test_a_memory_limit_that_the_kernel_rounds_to_its_pages_holds(beside: int) -> None:
    machine = MachinePlan(memory_limit_bytes_per_node=MEMORY_BYTES)
    verdict = judged(with_machine(machine, "group_memory_limit_bytes", MEMORY_BYTES + beside))
    assert (verdict.verdict, {r.code for r in verdict.reasons}) == ("valid", {"confined"})


def test_an_fsync_floor_in_every_node_holds() -> None:
    verdict = judged(with_floor("2 ms", "2 ms"))
    assert (verdict.verdict, {r.code for r in verdict.reasons}) == ("valid", {"confined"})


@pytest.mark.parametrize("pause_ns", [0, None, 250_000_000])
def test_an_agent_that_was_away_for_a_moment_was_not_paused(pause_ns: int | None) -> None:
    change = {"longest_pause_ns": pause_ns, "longest_pause_unix_s": START + 4}
    assert judged(findings(changed("agent_health", change))).reasons == ()
