"""What remains is told from what brokers say; where they say nothing it is not known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from brokerlab.brokers.pulsar import backlog
from brokerlab.brokers.pulsar.backlog import Backlog
from brokerlab.errors import BrokerError
from brokerlab.model.plan import AgentPlan, Durability

ONE, TWO = (f"persistent://public/l4/d-partition-{i}" for i in range(2))


def remaining(monkeypatch: pytest.MonkeyPatch, partitions: dict[str, Any], messages: int = 0) -> int:
    class Brokers:
        def __init__(self, endpoint: object, seconds: float) -> None: ...

        def get(self, path: str) -> Any:
            assert "/d/partitioned-stats?" in path
            return {"partitions": partitions}

        def request(self, method: str, path: str) -> Any:
            assert (method, path.endswith("/analyzeBacklog")) == ("POST", True)
            return {"messages": messages}

    monkeypatch.setattr(backlog, "Rest", Brokers)
    plan = SimpleNamespace(group="g", endpoint=None, durability=Durability.L4, destinations=("d",), partitions=2)
    return Backlog(cast(AgentPlan, plan)).remaining()


def stats(**entries: int) -> dict[str, Any]:
    return {"subscriptions": {group: {"msgBacklog": count} for group, count in entries.items()}}


def test_few_entries_are_counted_by_their_messages_and_many_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert remaining(monkeypatch, {ONE: stats(g=0, other=7), TWO: stats(g=0)}) == 0
    assert remaining(monkeypatch, {ONE: stats(g=3), TWO: stats(g=0)}, messages=40) == 40
    assert remaining(monkeypatch, {ONE: stats(g=900), TWO: stats(g=900)}, messages=40) == 1800


@pytest.mark.parametrize(
    ("partitions", "said"),
    [
        ({}, "0 of 2 partitions"),
        ({ONE: stats(g=0)}, "1 of 2 partitions"),
        ({ONE: stats(g=0), TWO: stats()}, f"no figures of g on {TWO}"),
        ({ONE: stats(other=0), TWO: stats(g=0)}, f"no figures of g on {ONE}"),
    ],
)
def test_where_a_broker_has_died_no_figures_are_not_taken_for_a_zero(
    monkeypatch: pytest.MonkeyPatch, partitions: dict[str, Any], said: str
) -> None:
    with pytest.raises(BrokerError, match=said):
        remaining(monkeypatch, partitions)
