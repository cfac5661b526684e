"""Notes on what the machine and the clusters were made to be, and reasons where that did not hold."""

from __future__ import annotations

from typing import Any

import pytest

from brokerlab.judge.findings import Findings
from brokerlab.judge.load_checks import agent_saturated
from brokerlab.judge.setup_checks import confined, kept_cluster, link_exceeded, placement_left, share_exceeded
from brokerlab.model.environment import CellEnvironment, ExecutionEnvironment
from brokerlab.model.plan import MachinePlan, RunPlan
from brokerlab.model.state import RunState
from synthetic import environment, make_plan

Row = dict[str, Any]


def plan(machine: MachinePlan | None = None, **more: Any) -> RunPlan:
    made = make_plan("run", cells=1, repeats=2)
    cell = made.cells[0].model_copy(update={"machine": machine or MachinePlan(), **more})
    return made.model_copy(update={"cells": (cell,)})


def findings(of: RunPlan, readings: list[Row] = [], agents: list[Row] = [], **more: Any) -> Findings:  # noqa: B006
    tables = {"reading_per_second": readings, "agent_health": agents}
    given = {"environment": environment(of), "state": RunState(), "figures": {}}
    return Findings(plan=of, tables=tables, **(given | more))


def reading(metric: str, value: float, subject: str = "process:kafka-1", phase: str = "measure") -> Row:
    where = {"cell": "c01", "repeat": 1, "second_unix_s": 7, "phase": phase}
    return {**where, "subject": subject, "metric": metric, "value": value}


def test_a_kept_cluster_is_noted_with_how_many_executions_shared_it() -> None:
    of = plan(kept_cluster=True)
    executions = {str(i): ExecutionEnvironment(cluster_of="c01-r1", cluster_executions=i) for i in (1, 2, 3)}
    known = environment(of).with_cell("c01", CellEnvironment(executions=executions))
    (reason,) = kept_cluster.reasons(findings(of, environment=known))
    assert (reason.weight, reason.cell, reason.value) == ("note", "c01", 2)
    assert reason.text.startswith("2 of 3 executions ran on a cluster that an earlier one had started")
    assert not kept_cluster.reasons(findings(of))


def test_what_processes_were_given_is_noted() -> None:
    of = plan(MachinePlan(node_cores=(0,), producer_cores=(1, 2), cpu_share_per_node=0.3))
    (reason,) = confined.reasons(findings(of))
    assert reason.weight == "note"
    assert "nodes on core 0, producers on cores 1, 2, 0.3 of a processor for each node" in reason.text
    assert not confined.reasons(findings(plan()))


@pytest.mark.parametrize(("value", "phase", "expected"), [(0, "measure", 0), (2, "measure", 1), (2, "warm_up", 0)])
def test_threads_on_other_cores_spoil_the_execution(value: float, phase: str, expected: int) -> None:
    of = plan(MachinePlan(node_cores=(0,)))
    found = placement_left.reasons(findings(of, [reading("threads_outside_placement", value, phase=phase)]))
    assert len(found) == expected
    assert all(r.weight == "cannot tell" and "kafka-1" in r.text for r in found)


@pytest.mark.parametrize(("used", "expected"), [(0.3, 0), (0.32, 0), (0.4, 1)])
def test_a_node_above_its_share_spoils_the_execution(used: float, expected: int) -> None:
    of = plan(MachinePlan(cpu_share_per_node=0.3))
    rows = [reading("cpu_limit_cores", 0.3), reading("cpu_cores", used), reading("cpu_cores", 2.0, "process:agent")]
    found = share_exceeded.reasons(findings(of, rows))
    assert [r.text for r in found] == ["kafka-1 used 0.40 processors; its share is 0.3"] * expected


def test_a_share_that_was_never_read_back_is_not_taken_on_trust() -> None:
    of = plan(MachinePlan(cpu_share_per_node=0.3))
    (reason,) = share_exceeded.reasons(findings(of, [reading("cpu_cores", 0.2)]))
    assert "not read back" in reason.text


@pytest.mark.parametrize(
    ("way", "carried", "expected"), [("to_node", 31e6, 0), ("to_node", 33e6, 1), ("from_node", 40e6, 1)]
)
def test_a_link_that_carried_more_than_its_cap_spoils_the_execution(way: str, carried: float, expected: int) -> None:
    of = plan(MachinePlan(link_bytes_per_s=30_000_000))
    rows = [reading(f"link_{way}_bytes_per_s", carried, "process:link-1")]
    found = link_exceeded.reasons(findings(of, rows))
    assert [r.text for r in found] == [f"link-1 carried {carried / 1e6:.1f} MB/s; its cap is 30"] * expected
    (unread,) = link_exceeded.reasons(findings(of, [reading("cpu_cores", 0.1)]))
    assert "was not read" in unread.text


@pytest.mark.parametrize(
    ("cores", "agents", "saturated"), [((), 2, False), ((1,), 2, True), ((0, 1), 2, False), ((1,), 1, False)]
)
def test_agents_that_share_a_core_are_saturated_together(cores: tuple[int, ...], agents: int, saturated: bool) -> None:
    of = plan(MachinePlan(producer_cores=cores))
    cell = of.cells[0]
    of = of.model_copy(
        update={
            "cells": (
                cell.model_copy(update={"producers": cell.producers.model_copy(update={"agents": agents, "count": 2})}),
            )
        }
    )
    row = {
        "cell": "c01",
        "repeat": 1,
        "agent": "producer-1",
        "role": "producer",
        "cpu_cores_mean": 0.5,
        "behind_max": 9,
    }
    assert bool(agent_saturated.reasons(findings(of, agents=[row]))) is saturated
