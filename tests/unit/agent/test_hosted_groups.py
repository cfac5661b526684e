"""Several groups in one agent: each has rows and a report of its own, and together they are the agent's."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from brokerlab.agent.consuming import Consuming, HostedGroup
from brokerlab.agent.control import Control
from brokerlab.agent.evidence_process import EvidencePipe
from brokerlab.agent.ledger import ConsumerTotals
from brokerlab.agent.notes import EvidenceNotes
from brokerlab.agent.receiver import Receiver
from brokerlab.load.drain import Progress, drained
from brokerlab.load.plans import agent_plans
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import AgentPlan, ConsumersPlan, Endpoint
from synthetic import make_plan

SECOND_NS = 10**9


@dataclass
class Rows:
    """What a ledger gives up: nothing here, for the counts are what is looked at."""

    intervals: list[Any] = field(default_factory=list)
    ranges: Any = field(default_factory=lambda: np.zeros(0, [("first", np.int64)]))
    messages: Any = field(default_factory=lambda: np.zeros(0, [("first", np.int64)]))


class Client:
    path = "none"

    def __init__(self, remaining: int) -> None:
        self._remaining = remaining

    def remaining(self) -> int:
        return self._remaining


class Arrivals:
    """A receiver that gets so many messages at every turn."""

    def __init__(self, number: int, each_time: int) -> None:
        self.number, self._each_time, self._got = number, each_time, 0
        self.client = Client(0 if each_time else 7)

    def begin(self, start_ns: int, unix_minus_mono_ns: int) -> None: ...

    def receive(self, deadline_ns: int) -> int:  # noqa: ARG002
        self._got += self._each_time
        return self._each_time

    def totals(self) -> ConsumerTotals:
        return ConsumerTotals(received=self._got, corrupted=0, unexpected=0, bytes=100 * self._got)

    def take(self) -> Rows:
        return Rows()

    def highest(self) -> np.ndarray[Any, Any]:
        return np.array([self._got - 1, -1])


class Script:
    """Commands in order, one at each look, and what was said."""

    def __init__(self, *commands: str) -> None:
        self._commands, self.said = list(commands), defaultdict(list)

    def command(self, wait_s: float = 0.0) -> dict[str, Any] | None:  # noqa: ARG002
        return {"command": self._commands.pop(0)} if self._commands else None

    def say(self, event: str, **facts: Any) -> None:
        self.said[event].append(facts)


class Kept:
    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def put(self, table: str, columns: dict[str, Any]) -> None:
        self.rows[table].append({name: values[0] for name, values in columns.items()})

    def push(self) -> None: ...


@pytest.fixture
def plan() -> AgentPlan:
    run = make_plan("20261116T120000Z-steady-abc123", cells=1, groups=1)
    sets = ConsumersPlan(name="many", groups=2, per_group=2, agents_per_group=1, agents=1)
    cell = run.cells[0].model_copy(update={"consumers": sets})
    where = Endpoint(addresses=("127.0.0.1:1",))
    _, (made,) = agent_plans(run, cell, ExecutionId(cell="c01", repeat=1), 1, where, Path("evidence"))
    return made


def test_each_group_has_its_rows_and_its_report_and_together_they_are_the_agents(plan: AgentPlan) -> None:
    kept, script = Kept(), Script("report", "finish")
    pipe, control = cast(EvidencePipe, kept), cast(Control, script)
    each_time = {"many_g1": 3, "many_g2": 0}
    hosted = [
        HostedGroup(
            of.group or "",
            [cast(Receiver, Arrivals(n, each_time[(of.group or "").rpartition("-")[2]])) for n in of.members],
            EvidenceNotes(of, pipe),
        )
        for of in plan.by_group()
    ]
    begun_ns, used_ns = time.monotonic_ns(), time.process_time_ns()
    result = Consuming(plan, hosted, control, pipe).run(begun_ns, 0)
    elapsed_ns, used_ns = time.monotonic_ns() - begun_ns, time.process_time_ns() - used_ns

    assert [group.name.rpartition("-")[2] for group in hosted] == ["many_g1", "many_g2"]
    assert result["received"] > 0
    by_group = defaultdict(int)
    for row in kept.rows["activity"]:
        by_group[row["group"]] += row["received"]
        assert row["elapsed_ns"] > 0
    assert dict(by_group) == {hosted[0].name: result["received"], hosted[1].name: 0}
    rows = kept.rows["activity"]
    assert sum(r["elapsed_ns"] for r in rows) == pytest.approx(elapsed_ns, abs=20_000_000)
    assert sum(r["cpu_user_ns"] + r["cpu_system_ns"] for r in rows) <= used_ns + 50_000_000
    assert sum(line["received"] for line in script.said["live"]) == result["received"]

    (report,) = script.said["report"]
    assert report["groups"].keys() == {group.name for group in hosted}
    one, other = (Progress(**report["groups"][group.name]) for group in hosted)
    assert (one.received > 0, list(one.remaining), other.received, list(other.remaining)) == (True, [0, 0], 0, [7, 7])
    assert one.quiet_ns < SECOND_NS < other.quiet_ns
    assert not drained({(0, 0): 5}, 2, [other], 6).complete
