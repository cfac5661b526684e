"""A planned fault from the plan to the verdict, on the memory broker.

It has one node, so a cluster made here plays the second: when node 1 is to be killed its process is stopped (SIGSTOP)
and, when the outage is over, goes on under the name of node 2. To everybody who is connected that is a broker that does
not answer for so long, and then has lost nothing.
"""

from __future__ import annotations

import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from brokerlab import execution
from brokerlab.brokers.contract import CanLoseANode, Cluster, NodeInfo
from brokerlab.brokers.kit.front_door import FrontDoor
from brokerlab.brokers.memory.broker import BROKER
from brokerlab.brokers.registry import broker_named
from brokerlab.cli.progress import SilentListener
from brokerlab.cli.verdict_text import verdict_lines
from brokerlab.errors import UserError
from brokerlab.model.plan import CellPlan, FaultPlan, RunPlan
from brokerlab.pipeline.analyze import analyze
from brokerlab.report.page import write_report
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_rows
from brokerlab.results.tables import FAULT
from brokerlab.results.verdict import Verdict
from brokerlab.runner import run
from brokerlab.workload.load import plan_workload

OUTAGE_S = 1.5
WORKLOAD = """
name: lose-a-node
question: What does it cost to lose the leading node?
broker: memory
producers: {rate: 500/s, message: 200B}
consumers: {groups: 1}
phases: {warm_up: 1s, measure: 6s, drain_limit: 120s}
"""


class TwoNodes:
    """A memory cluster with a stand-in for its one node; everything else is the real one's."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self._leading = "memory-1"
        self._awake: threading.Timer | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def nodes(self) -> tuple[NodeInfo, ...]:
        (first,) = self._real.nodes()
        return first, NodeInfo("memory-2", first.pid, first.urls)

    def leading_node(self, destination: str) -> str:
        assert destination.startswith("brokerlab-")
        return self._leading

    def kill_node(self, name: str) -> None:
        assert name == "memory-1"
        self._real._processes[0].send(signal.SIGSTOP)
        self._awake = threading.Timer(OUTAGE_S, self._go_on)
        self._awake.start()

    def _go_on(self) -> None:
        self._leading = "memory-2"
        self._real._processes[0].send(signal.SIGCONT)

    def stop(self) -> None:
        if self._awake is not None:
            self._awake.join()
        self._real.stop()


@dataclass(frozen=True)
class TwoNodeBroker(FrontDoor):
    def cluster(self, cell: CellPlan, directory: Path, logs: Path) -> Cluster:
        made: Any = TwoNodes(super().cluster(cell, directory, logs))
        return made


def planned(folder: Path, target: str) -> RunPlan:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "workload.yaml"
    file.write_text(WORKLOAD)
    plan = plan_workload(file, broker_named=broker_named)
    faults = (FaultPlan(kind="kill", target=target, at_s=2.0),)
    cells = tuple(c.model_copy(update={"nodes": 2, "faults": faults, "keep_messages": True}) for c in plan.cells)
    return plan.model_copy(update={"cells": cells})


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BROKERLAB_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr(execution, "broker_named", lambda _name: TwoNodeBroker(**vars(BROKER)))
        yield tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def lost_a_node(two_nodes: Path) -> tuple[RunDirectory, Verdict]:
    directory = run(planned(two_nodes / "w", "leader"), two_nodes / "good", say=SilentListener())
    return directory, analyze(directory.path)


def test_the_outage_and_the_take_over_are_what_was_made_to_happen(lost_a_node: tuple[RunDirectory, Verdict]) -> None:
    directory, _ = lost_a_node
    (row,) = read_rows(directory, FAULT)
    assert (row["fault"], row["node"], row["was_leading"], row["took_over"]) == ("kill", "memory-1", True, "memory-2")
    assert row["at_s"] >= 2.0
    # A busy machine makes it longer; and shorter, where clients read late what had come before.
    assert row["publish_outage_s"] >= OUTAGE_S / 2
    assert row["delivery_outage_s"] >= OUTAGE_S / 2
    assert row["publish_recovered"]
    assert row["delivery_recovered"]
    assert row["took_over_after_s"] >= OUTAGE_S - 0.02
    assert (row["lost"], row["drained"]) == (0, True)


def test_a_node_that_died_by_plan_is_no_failure_and_delivery_is_judged(
    lost_a_node: tuple[RunDirectory, Verdict],
) -> None:
    directory, verdict = lost_a_node
    assert directory.state().executions["c01-r1"].state == "finished"
    codes = {r.code: r.weight for r in verdict.reasons}
    assert codes["planned_fault"] == "note"
    assert not {"broker_died", "broker_failed", "agent_died", "failed", "fault_missing"} & set(codes)
    for expected in ("load_not_delivered", "send_delay", "agent_saturated", "not_steady"):
        assert codes.get(expected, "note") == "note"
    assert verdict.delivery["acknowledged"] > 0
    assert verdict.delivery["lost"] == 0
    against = {r.cause for r in verdict.reasons if r.weight != "note"}
    assert against <= {"machine", "agent"}, "only a busy machine may speak against the run"
    assert verdict.exit_code() == (5 if verdict.verdict == "invalid" else 0)


def test_the_fault_is_told_on_the_terminal_and_in_the_report(lost_a_node: tuple[RunDirectory, Verdict]) -> None:
    directory, verdict = lost_a_node
    (line,) = [text for text in verdict_lines(verdict) if text.startswith("  fault: ")]
    assert "memory-1, which led, was killed" in line
    assert "memory-2 took over after" in line
    assert "0 lost" in line
    page = write_report(directory).read_text()
    assert "What the fault did" in page
    assert "memory-2 took over after" in page


def test_a_node_that_is_not_there_is_refused_before_the_load(two_nodes: Path) -> None:
    with pytest.raises(UserError, match="no node 'memory-7' to kill") as caught:
        run(planned(two_nodes / "w2", "memory-7"), two_nodes / "bad", say=SilentListener())
    assert "memory-1, memory-2" in str(caught.value.hint)
    (directory,) = (two_nodes / "bad").iterdir()
    assert not (directory / "evidence").exists()


def test_a_cluster_that_cannot_lose_its_only_node_is_refused(two_nodes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "broker_named", lambda _name: BROKER)
    with pytest.raises(UserError, match="cannot lose its only node for good"):
        run(planned(two_nodes / "w3", "leader"), two_nodes / "cannot", say=SilentListener())


def test_the_stand_in_has_the_power_that_faults_ask_for() -> None:
    assert isinstance(TwoNodes(None), CanLoseANode)
