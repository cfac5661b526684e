"""Names in the broker and run tags: what an attempt that was cut off left behind is never taken for the next one's."""

from __future__ import annotations

from pathlib import Path

from brokerlab.load.plans import agent_plans, destination_names, group_names, run_tag
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import Endpoint
from synthetic import make_plan

RUN = "20261116T120000Z-steady-abc123"
PLAN = make_plan(RUN, cells=1, groups=2)
CELL = PLAN.cells[0]
FIRST = ExecutionId(cell="c01", repeat=1)


def test_every_attempt_has_destinations_and_groups_of_its_own() -> None:
    attempts = [{*destination_names(RUN, CELL, FIRST, a), *group_names(RUN, CELL, FIRST, a)} for a in (1, 2, 3)]
    assert [len(names) for names in attempts] == [3, 3, 3]
    assert len(set.union(*attempts)) == 9


def test_an_attempts_names_say_its_number() -> None:
    for name in (*destination_names(RUN, CELL, FIRST, 7), *group_names(RUN, CELL, FIRST, 7)):
        assert "-a7-" in name
        assert name.startswith("brokerlab-abc123-20261116T120000Z-c01-r1-")


def test_every_attempt_and_repeat_has_a_run_tag_of_its_own_that_fits_the_header() -> None:
    tags = [
        run_tag(RUN, ExecutionId(cell=cell, repeat=repeat), attempt)
        for cell in ("c01", "c02")
        for repeat in (1, 2)
        for attempt in (1, 2)
    ]
    assert len(set(tags)) == 8
    assert all(0 <= tag < 1 << 32 for tag in tags)


def test_agents_of_an_attempt_get_its_tag_and_its_names() -> None:
    endpoint = Endpoint(addresses=("127.0.0.1:1",))
    made = {a: agent_plans(PLAN, CELL, FIRST, a, endpoint, Path("evidence")) for a in (1, 2)}
    for attempt, (producers, consumers) in made.items():
        for plan in (*producers, *consumers):
            assert plan.run_tag == run_tag(RUN, FIRST, attempt)
            assert plan.destinations == destination_names(RUN, CELL, FIRST, attempt)
        assert {c.group for c in consumers} == set(group_names(RUN, CELL, FIRST, attempt))
