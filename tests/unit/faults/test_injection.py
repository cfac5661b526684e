"""Faults happen when planned, to the node that was meant, and what came of them is journalled."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from brokerlab.brokers.contract import CanLoseANode, CanRestartANode, NodeInfo
from brokerlab.errors import BrokerError, UserError
from brokerlab.faults import injection
from brokerlab.faults.fault import Aim
from brokerlab.faults.injection import Injection, raise_failure
from brokerlab.faults.kill import KillNode
from brokerlab.model.events import Event
from brokerlab.model.plan import CellPlan, FaultPlan
from synthetic import make_plan

DEADLINE_S = 60.0


class ThreeNodes:
    """As much of a cluster as faults ask for: node-1 leads until it is killed, then nobody for two questions."""

    def __init__(self, *, heirs: tuple[str, ...] = ("node-2",), broken: bool = False) -> None:
        self.killed: list[tuple[str, int]] = []
        self.restarted: list[tuple[str, int]] = []
        self.dead: set[str] = set()  # of the Injection, where a test has given it
        self._heirs = heirs
        self._broken = broken
        self._asked_since = 0

    def nodes(self) -> tuple[NodeInfo, ...]:
        return tuple(NodeInfo(f"node-{i}", 0) for i in (1, 2, 3))

    def leading_node(self, destination: str) -> str:
        assert destination == "d0"
        if self._broken:
            raise BrokerError("nobody answers")
        if "node-1" not in [name for name, _ in self.killed]:
            return "node-1"
        self._asked_since += 1
        if self._asked_since == 1:
            raise ConnectionResetError("the node I asked is gone")
        if self._asked_since == 2 or not self._heirs:
            return "node-1"  # what others still believe
        return self._heirs[0]

    def kill_node(self, name: str) -> None:
        self.killed.append((name, time.monotonic_ns()))

    def restart_node(self, name: str) -> None:
        assert not self.dead or name in self.dead, "the watch over the nodes would take it for an accident"
        self.restarted.append((name, time.monotonic_ns()))


class OneNode(ThreeNodes):
    def nodes(self) -> tuple[NodeInfo, ...]:
        return (NodeInfo("node-1", 0),)

    def leading_node(self, destination: str) -> str:
        assert destination == "d0"
        return "node-1"


class Journal:
    def __init__(self) -> None:
        self.rows: list[tuple[str, Any]] = []
        self.grown = threading.Condition()

    def add(self, event: Event) -> None:
        with self.grown:
            self.rows.append((event.kind, event))
            self.grown.notify_all()

    def wait_for(self, kind: str) -> Any:
        with self.grown:
            assert self.grown.wait_for(lambda: kind in dict(self.rows), DEADLINE_S), self.rows
            return dict(self.rows)[kind]

    def wait_for_count(self, kind: str, n: int) -> None:
        with self.grown:
            assert self.grown.wait_for(lambda: [k for k, _ in self.rows].count(kind) == n, DEADLINE_S), self.rows


def cell(*faults: str | FaultPlan, at_s: float = 0.05, nodes: int = 3) -> CellPlan:
    planned = tuple(FaultPlan(kind="kill", target=f, at_s=at_s) if isinstance(f, str) else f for f in faults)
    return make_plan("run", cells=1).cells[0].model_copy(update={"faults": planned, "nodes": nodes})


def injected(cluster: Any, *faults: str | FaultPlan) -> tuple[Injection, Journal, int]:
    journal = Journal()
    made = Injection(cell(*faults, nodes=len(cluster.nodes())), cluster, "d0", journal.add)
    cluster.dead = made.dead
    made.check()
    start_ns = time.monotonic_ns()
    made.start(start_ns)
    return made, journal, start_ns


def test_the_leader_is_killed_not_before_its_time_and_the_next_leader_is_named() -> None:
    cluster = ThreeNodes()
    assert isinstance(cluster, CanLoseANode)
    made, journal, start_ns = injected(cluster, "leader")
    took_over = journal.wait_for("took_over")
    made.finish()
    ((name, at_ns),) = cluster.killed
    assert name == "node-1"
    assert at_ns >= start_ns + 50_000_000
    begun = journal.rows[0][1]
    assert journal.rows[0][0] == "fault_begun"
    assert (begun.fault, begun.node, begun.was_leading, begun.at_s) == ("kill", "node-1", True, 0.05)
    assert start_ns + 50_000_000 <= begun.begun_mono_ns <= at_ns
    assert (begun.measure_from_mono_ns, begun.measure_until_mono_ns) == (start_ns, start_ns + 8 * 10**9)
    assert (took_over.node, took_over.fault_node) == ("node-2", "node-1")
    assert took_over.after_s > 0
    assert made.dead == {"node-1"}
    assert made.failure() is None


@pytest.mark.parametrize(("target", "node"), [("follower", "node-2"), ("node-3", "node-3")])
def test_where_the_leader_lives_on_nothing_has_to_take_over(target: str, node: str) -> None:
    cluster = ThreeNodes()
    made, journal, _ = injected(cluster, target)
    begun = journal.wait_for("fault_begun")
    made.finish()
    assert [name for name, _ in cluster.killed] == [node]
    assert (begun.node, begun.leader, begun.was_leading) == (node, "node-1", False)
    assert [kind for kind, _ in journal.rows] == ["fault_begun"]


def test_that_nothing_took_over_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injection, "TAKE_OVER_S", 0.3)
    made, journal, _ = injected(ThreeNodes(heirs=()), "leader")
    said = journal.wait_for("nothing_took_over")
    made.finish()
    assert said.fault_node == "node-1"
    assert said.within_s >= 0.3


def test_several_faults_happen_in_order_and_a_dead_node_is_no_heir() -> None:
    cluster = ThreeNodes()
    made, journal, _ = injected(cluster, "node-2", "leader")
    journal.wait_for_count("fault_begun", 2)
    made.finish()
    assert [name for name, _ in cluster.killed] == ["node-2", "node-1"]
    assert "took_over" not in dict(journal.rows), "node-2 was dead already"


def test_a_fault_that_cannot_be_made_ends_the_execution_with_the_reason() -> None:
    made, journal, _ = injected(ThreeNodes(broken=True), "leader")
    journal.wait_for("fault_failed")
    made.finish()
    with pytest.raises(BrokerError, match="a planned fault did not happen: nobody answers"):
        raise_failure(made)
    raise_failure(None)


def test_a_killed_node_is_started_again_after_its_time_and_is_no_longer_dead() -> None:
    cluster = ThreeNodes()
    assert isinstance(cluster, CanRestartANode)
    made, journal, start_ns = injected(cluster, FaultPlan(target="node-2", at_s=0.05, restart_after_s=0.1))
    ended = journal.wait_for("fault_ended")
    ((name, at_ns),) = cluster.restarted
    assert name == "node-2"
    assert start_ns + 150_000_000 <= at_ns <= ended.ended_mono_ns
    assert (ended.fault, ended.node) == ("kill", "node-2")
    assert made.dead == set()
    made.finish()
    assert made.failure() is None
    assert len(cluster.restarted) == 1


def test_a_single_node_can_be_killed_again_and_again_and_nothing_is_asked_who_takes_over() -> None:
    cluster = OneNode()
    kills = [
        FaultPlan(target=target, at_s=at_s, restart_after_s=0.05)
        for target, at_s in (("leader", 0.05), ("node-1", 0.2))
    ]
    made, journal, _ = injected(cluster, *kills)
    journal.wait_for_count("fault_ended", 2)
    made.finish()
    assert sorted(kind for kind, _ in journal.rows) == ["fault_begun"] * 2 + ["fault_ended"] * 2
    assert journal.rows[0][1].nodes == 1
    assert [name for name, _ in cluster.restarted] == ["node-1", "node-1"]
    assert made.failure() is None


def test_the_next_fault_does_not_wait_for_another_leader_where_the_node_comes_back() -> None:
    """It leads again itself: nothing else ever takes over."""
    kills = [FaultPlan(target="node-1", at_s=at_s, restart_after_s=0.05) for at_s in (0.05, 0.4)]
    cluster = ThreeNodes(heirs=())
    made, journal, start_ns = injected(cluster, *kills)
    journal.wait_for_count("fault_begun", 2)
    made.finish()
    second_ns = cluster.killed[1][1]
    assert second_ns >= start_ns + 400_000_000
    assert second_ns - start_ns < injection.TAKE_OVER_S * 1e9
    assert [kind for kind, _ in journal.rows].count("nothing_took_over") >= 1


def test_a_cluster_that_cannot_start_a_node_again_is_refused_before_the_load() -> None:
    class Neither(ThreeNodes):
        restart_node = None  # type: ignore[assignment]

    cluster: Any = Neither()
    assert not isinstance(cluster, CanRestartANode)
    with pytest.raises(UserError, match="cannot start a killed node again"):
        Injection(cell(FaultPlan(target="leader", at_s=1, restart_after_s=1)), cluster, "d0", Journal().add)


class Pause(KillNode):
    """A fault of the second kind: it is undone after a while."""

    def __init__(self, plan: FaultPlan, cluster: Any, dead: set[str]) -> None:
        super().__init__(plan, cluster, dead)
        self.lasts_s = plan.at_s

    def end(self, aim: Aim) -> None:
        if aim.node == "node-3":
            raise BrokerError("it does not wake up")


def test_a_fault_that_lasts_a_while_is_undone_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(injection.KINDS, "kill", Pause)
    made, journal, _ = injected(ThreeNodes(), "node-2")
    ended = journal.wait_for("fault_ended")
    made.finish()
    begun = journal.wait_for("fault_begun")
    assert (ended.fault, ended.node) == ("kill", "node-2")
    assert ended.ended_mono_ns >= begun.begun_mono_ns + 50_000_000
    assert [kind for kind, _ in journal.rows].count("fault_ended") == 1


def test_a_fault_is_undone_at_the_end_of_the_execution_at_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(injection.KINDS, "kill", Pause)
    cluster, journal = ThreeNodes(), Journal()
    made = Injection(cell("node-2", at_s=3600.0), cluster, "d0", journal.add)  # type: ignore[arg-type]
    made.start(time.monotonic_ns() - 3600 * 10**9)
    journal.wait_for("fault_begun")
    assert "fault_ended" not in dict(journal.rows)
    made.finish()
    assert "fault_ended" in dict(journal.rows)


def test_a_fault_that_cannot_be_undone_ends_the_execution_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(injection.KINDS, "kill", Pause)
    made, journal, _ = injected(ThreeNodes(), "node-3")
    journal.wait_for("fault_failed")
    made.finish()
    with pytest.raises(BrokerError, match="it does not wake up"):
        raise_failure(made)


def test_no_fault_happens_after_the_end() -> None:
    cluster = ThreeNodes()
    journal = Journal()
    made = Injection(cell("leader", at_s=3600.0), cluster, "d0", journal.add)
    made.start(time.monotonic_ns())
    made.finish()
    assert cluster.killed == []
    assert journal.rows == []


def test_a_name_no_node_has_is_refused_before_the_load_with_those_that_are() -> None:
    made = Injection(cell("node-9"), ThreeNodes(), "d0", Journal().add)  # type: ignore[arg-type]
    with pytest.raises(UserError) as caught:
        made.check()
    assert "node-9" in str(caught.value)
    assert "node-1, node-2, node-3" in str(caught.value.hint)
