"""Sets of consumers that start later: their names and numbers, and when each of them starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.load.late_sets import LateSets
from brokerlab.load.plans import agent_plans, group_names
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import AgentPlan, CellPlan, ConsumersPlan, Endpoint
from synthetic import make_plan

RUN = "20261116T120000Z-steady-abc123"
FIRST = ExecutionId(cell="c01", repeat=1)
SECOND_NS = 10**9
START_NS = 100 * SECOND_NS
PLAN = make_plan(RUN, cells=1, groups=1)


def one(name: str, groups: int = 1, per_group: int = 1, **more: object) -> ConsumersPlan:
    return ConsumersPlan.model_validate(
        {"name": name, "groups": groups, "per_group": per_group, "agents_per_group": 1, **more}
    )


SETS = (
    one("tail", 2, 2),
    one("late", per_group=3, start="after", start_after_s=4),
    one("catch_up", per_group=2, start="backlog", start_backlog_bytes=1000),
    one("end", start="after_backlog"),
)


@pytest.fixture
def cell() -> CellPlan:
    return PLAN.cells[0].model_copy(update={"consumers": SETS[0], "more_consumers": SETS[1:]})


def consumers(cell: CellPlan) -> list[AgentPlan]:
    return agent_plans(PLAN, cell, FIRST, 1, Endpoint(addresses=("127.0.0.1:1",)), Path("evidence"))[1]


def test_a_groups_name_tells_its_set(cell: CellPlan) -> None:
    names = group_names(RUN, cell, FIRST, 1)
    assert [name.rpartition("-")[2] for name in names] == ["tail_g1", "tail_g2", "late_g1", "catch_up_g1", "end_g1"]
    assert [cell.set_of(name).name for name in names] == ["tail", "tail", "late", "catch_up", "end"]
    assert cell.groups == 5


def test_consumers_of_all_sets_have_numbers_of_their_own_that_tell_the_place_in_a_group(cell: CellPlan) -> None:
    plans = consumers(cell)
    numbers = [m for plan in plans for m in plan.members]
    assert len(set(numbers)) == len(numbers) == 4 + 3 + 2 + 1
    for plan in plans:
        assert plan.consumers is not None
        assert [m % plan.consumers.per_group for m in plan.members] == list(range(plan.consumers.per_group))


def test_groups_that_share_agents_keep_their_names_and_numbers(cell: CellPlan) -> None:
    shared = one("many", 5, 2, agents=2)
    plans = consumers(cell.model_copy(update={"consumers": shared, "more_consumers": (one("last"),)}))
    assert [p.agent for p in plans] == ["consumer-many_groups-1", "consumer-many_groups-2", "consumer-last_g1-1"]
    hosted = [(of.group.rpartition("-")[2], of.members) for p in plans for of in p.by_group() if of.group]
    assert dict(hosted) == {
        "many_g1": (0, 1), "many_g3": (4, 5), "many_g5": (8, 9), "many_g2": (2, 3), "many_g4": (6, 7), "last_g1": (10,),
    }  # fmt: skip
    assert all(p.agent.startswith(shared.agent_prefix()) for p in plans[:2])
    assert shared.all_agents == 2


def test_each_set_starts_once_when_its_time_or_its_backlog_has_come(cell: CellPlan) -> None:
    late = LateSets(cell, consumers(cell), START_NS)
    measure_ns = START_NS + round(cell.phases.warm_up_s * SECOND_NS)
    assert not late.is_due(measure_ns + 4 * SECOND_NS - 1, 999)
    assert late.is_due(measure_ns, 1000)
    (due,) = late.take(measure_ns, 1000, all_sent=False)
    assert (due.consumers.name, due.reached, [a.agent for a in due.agents]) == (
        "catch_up", True, ["consumer-catch_up_g1-1"],
    )  # fmt: skip
    assert not late.is_due(measure_ns, 5000)
    (due,) = late.take(measure_ns + 4 * SECOND_NS, 5000, all_sent=False)
    assert (due.consumers.name, due.reached) == ("late", True)
    (due,) = late.take(measure_ns + 5 * SECOND_NS, 5000, all_sent=True)
    assert (due.consumers.name, due.reached) == ("end", True)
    assert late.take(measure_ns + 6 * SECOND_NS, 5000, all_sent=True) == []


def test_a_set_whose_backlog_never_comes_starts_when_everything_was_sent_and_says_so(cell: CellPlan) -> None:
    late = LateSets(cell, consumers(cell), START_NS)
    due = late.take(START_NS, 999, all_sent=True)
    assert {of.consumers.name: of.reached for of in due} == {"late": False, "catch_up": False, "end": True}


def test_a_plan_of_before_the_sets_has_one() -> None:
    old = PLAN.cells[0].model_dump(mode="json", exclude={"more_consumers"})
    old["consumers"] = {"groups": 2, "per_group": 1, "agents_per_group": 1, "start": "after_backlog"}
    read = CellPlan.model_validate(old)
    assert [of.group_names() for of in read.consumer_sets] == [("g1", "g2")]
    assert read.consumers.starts_late
