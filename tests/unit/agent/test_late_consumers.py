"""Consumers that start while a node is down by plan."""

from __future__ import annotations

from typing import Any

import pytest

from brokerlab.agent import __main__ as agent
from brokerlab.errors import BrokerError
from brokerlab.model.plan import AgentPlan
from synthetic import make_plan


class DownAtFirst:
    """Refuses consumers so many times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def consumer(self, _plan: AgentPlan, number: int) -> int:
        self.times -= 1
        if self.times >= 0:
            raise BrokerError("connection refused")
        return number


def plan(start: str, outage_s: float) -> Any:
    consumers = make_plan("run", cells=1).cells[0].consumers.model_copy(update={"start": start})
    return AgentPlan.model_construct(consumers=consumers, outage_s=outage_s)


def test_a_late_consumer_waits_for_a_node_that_is_planned_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "AGAIN_S", 0.001)
    broker: Any = DownAtFirst(3)
    assert agent.subscribed(plan("after_backlog", 3600.0), broker, 7) == 7
    broker.times = 10**9
    with pytest.raises(BrokerError, match="connection refused"):
        agent.subscribed(plan("after_backlog", 0.05), broker, 7)


@pytest.mark.parametrize(("start", "outage_s"), [("tailing", 3600.0), ("after_backlog", 0.0)])
def test_other_consumers_are_refused_at_once(start: str, outage_s: float) -> None:
    broker: Any = DownAtFirst(1)
    with pytest.raises(BrokerError, match="connection refused"):
        agent.subscribed(plan(start, outage_s), broker, 0)
