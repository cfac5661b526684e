"""Executions that follow each other on one cluster: what is shared, what is deleted, and when a fresh one is started."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from brokerlab import execution, runner
from brokerlab.brokers.memory.connection import ask
from brokerlab.brokers.registry import broker_named
from brokerlab.evidence.segments import rows
from brokerlab.evidence.tables import EVENT, INTERVAL
from brokerlab.model.events import ClusterKept, ClusterWarmedUp, NodeStarted, event_of
from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.directory import RunDirectory
from brokerlab.workload.load import plan_workload

WORKLOAD = """
name: kept
question: Is a cluster kept where it may be?
broker: memory
cluster: {kept: true}
producers: {rate: 200/s, message: 200B}
consumers: {groups: 1}
phases: {warm_up: 0s, measure: 1s, drain_limit: 60s}
retries: 0
"""


class Notes:
    def __init__(self) -> None:
        self.said: list[str] = []

    def stage(self, text: str) -> None: ...

    def progress(self, done: float, text: str) -> None: ...

    def note(self, text: str) -> None:
        self.said.append(text)


def run(tmp_path: Path, more: str, monkeypatch: Any, workload: str = WORKLOAD) -> RunDirectory:
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    file = tmp_path / "workload.yaml"
    file.write_text(workload + more)
    return runner.run(plan_workload(file, broker_named=broker_named), tmp_path / "runs", say=Notes())


def pids(run: RunDirectory) -> list[int]:
    """Of the node, in the order of executions."""
    found = [event_of(row) for e in run.plan().order for row in rows(run.events(e), EVENT)]
    return [event.pid for event in found if isinstance(event, NodeStarted)]


def kept(run: RunDirectory) -> list[ClusterKept]:
    found = [event_of(row) for e in run.plan().order for row in rows(run.events(e), EVENT)]
    return [event for event in found if isinstance(event, ClusterKept)]


def warming_up(run: RunDirectory, execution: ExecutionId) -> int:
    """Messages that were due before measuring."""
    found = rows(run.evidence(execution), INTERVAL)
    return sum(row["due"] for row in found if row["phase"] == "warm_up")


def test_a_cluster_is_warmed_up_once_and_nothing_of_it_is_kept(tmp_path: Path, monkeypatch: Any) -> None:
    sent: list[int] = []
    load = execution.Execution._load

    def looking(self: Any, endpoint: Any) -> Any:
        statistics = ask(endpoint, {"do": "statistics"})
        assert statistics["held_bytes"] == 0
        sent.append(statistics["in_messages_total"])
        return load(self, endpoint)

    monkeypatch.setattr(execution.Execution, "_load", looking)
    workload = WORKLOAD.replace("warm_up: 0s", "warm_up: 500ms, first_warm_up: 2s")
    made = run(tmp_path, "repeats: 3\n", monkeypatch, workload)
    assert [warming_up(made, e) for e in made.plan().order] == [100, 100, 100]
    assert sent == [
        601,
        901,
        1201,
    ]  # one that proves it ready; of 200/s: 2 s and a last one, then 1.5 s in each execution
    found = [event_of(row) for e in made.plan().order for row in rows(made.events(e), EVENT)]
    assert [event.seconds for event in found if isinstance(event, ClusterWarmedUp)] == [2.0]
    assert not list(made.path.glob("clusters/*"))


def test_a_death_while_a_cluster_is_warmed_up_is_a_result(tmp_path: Path, monkeypatch: Any) -> None:
    warm_up = execution.Execution._warm_up_new_cluster

    def killing(self: Any, endpoint: Any) -> Any:
        if self._execution.repeat == 1:
            (node,) = self._cluster.nodes()
            self.progress = lambda _text: os.kill(node.pid, signal.SIGKILL) if not self._cluster.dead_nodes() else None
        return warm_up(self, endpoint)

    monkeypatch.setattr(execution.Execution, "_warm_up_new_cluster", killing)
    workload = WORKLOAD.replace("warm_up: 0s", "warm_up: 0s, first_warm_up: 2s")
    made = run(tmp_path, "repeats: 2\n", monkeypatch, workload)
    assert [made.state().of(e).state for e in made.plan().order] == ["failed", "finished"]
    first, second = pids(made)
    assert first != second
    assert not list(made.path.glob("clusters/*"))


def test_executions_with_equal_servers_share_a_cluster_and_nothing_in_it(tmp_path: Path, monkeypatch: Any) -> None:
    held_bytes: list[int] = []
    load = execution.Execution._load

    def looking(self: Any, endpoint: Any) -> Any:
        held_bytes.append(ask(endpoint, {"do": "statistics"})["held_bytes"])
        return load(self, endpoint)

    monkeypatch.setattr(execution.Execution, "_load", looking)
    made = run(tmp_path, "repeats: 1\nsweep: {producers.rate: [100/s, 200/s]}\n", monkeypatch)
    (pid,) = set(pids(made))
    assert held_bytes == [0, 0]  # before each load
    assert [(k.executions, k.started_for) for k in kept(made)] == [(2, "c01-r1")]
    assert made.environment().cell("c01").executions["1"].cluster_executions == 1
    assert made.environment().cell("c02").executions["1"].cluster_of == "c01-r1"
    assert not (made.path / "clusters").exists() or not list((made.path / "clusters").iterdir())
    assert not Path(f"/proc/{pid}").exists()
    assert {state.state for state in made.state().executions.values()} == {"finished"}


def test_other_server_settings_are_another_cluster(tmp_path: Path, monkeypatch: Any) -> None:
    made = run(tmp_path, "repeats: 2\nsweep: {broker_settings.memory.retain_mib: [100, 200]}\n", monkeypatch)
    assert [str(e) for e in made.plan().order] == ["c01-r1", "c02-r1", "c02-r2", "c01-r2"]
    first, second, third, fourth = pids(made)
    assert second == third
    assert len({first, second, fourth}) == 3


def test_after_a_death_under_load_the_next_execution_has_a_fresh_cluster(tmp_path: Path, monkeypatch: Any) -> None:
    load = execution.Execution._load
    killed: list[int] = []

    def killing(self: Any, endpoint: Any) -> Any:
        if self._execution == ExecutionId(cell="c01", repeat=1):
            killed.extend(node.pid for node in self._cluster.nodes())
            set_off = self._agents.set_off

            def then_kill(*args: Any) -> None:
                set_off(*args)
                os.kill(killed[0], signal.SIGKILL)

            self._agents.set_off = then_kill
        return load(self, endpoint)

    monkeypatch.setattr(execution.Execution, "_load", killing)
    made = run(tmp_path, "repeats: 2\n", monkeypatch)
    first, second = pids(made)
    assert first == killed[0] != second
    assert [made.state().of(e).state for e in made.plan().order] == ["failed", "finished"]
