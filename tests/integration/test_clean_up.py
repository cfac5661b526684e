"""Clean-up that fails after a finished execution: a note, never another result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from contract_load import cell_for
from contract_servers import Running, running_server
from wire import Wire

from brokerlab import execution, runner
from brokerlab.brokers.contract import Cluster
from brokerlab.brokers.kit.front_door import FrontDoor
from brokerlab.brokers.memory.broker import BROKER
from brokerlab.brokers.registry import broker_named
from brokerlab.evidence.segments import rows
from brokerlab.evidence.tables import EVENT
from brokerlab.model.plan import CellPlan, Durability, Endpoint, RunPlan
from brokerlab.results.directory import RunDirectory
from brokerlab.workload.load import plan_workload

WORKLOAD = """
name: clean-up
question: What becomes of a finished execution when clean-up fails?
broker: memory
producers: {rate: 200/s, message: 200B}
consumers: {groups: 1}
phases: {warm_up: 0s, measure: 1s, drain_limit: 120s}
retries: 0
"""


class Notes:
    def __init__(self) -> None:
        self.said: list[str] = []

    def stage(self, text: str) -> None: ...

    def progress(self, done: float, text: str) -> None: ...

    def note(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


@pytest.fixture
def server(tmp_path: Path, wire: Wire) -> Iterator[Running]:
    """A memory broker that the user runs; the run reaches it through the wire."""
    with running_server(BROKER, cell_for("memory", 1, Durability.L4), tmp_path / "server") as running:
        (wire.target,) = running.endpoint.addresses
        yield running


def planned(folder: Path, **given: Any) -> RunPlan:
    file = folder / "workload.yaml"
    file.write_text(WORKLOAD)
    return plan_workload(file, broker_named=broker_named, **given)


def destinations(server: Running, run: RunDirectory) -> tuple[str, ...]:
    """Those of the run's one execution that the server has."""
    name = f"brokerlab-{run.name.rsplit('-', 1)[-1]}-{run.name.partition('-')[0]}-c01-r1-a1-d0"
    return tuple(d for d in server.admin.effective_settings((name,)) if d != "server")


def left_behind(run: RunDirectory) -> list[dict[str, str]]:
    (execution_id,) = run.plan().order
    events = rows(run.events(execution_id), EVENT)
    return [json.loads(row["detail"]) for row in events if row["kind"] == "left_behind"]


def execution_state(run: RunDirectory) -> str:
    return run.state().executions["c01-r1"].state


def cut_after_the_load(wire: Wire, *, heal: bool) -> type[execution.Execution]:
    class CutAfterLoad(execution.Execution):
        def _load(self, endpoint: Endpoint) -> execution.Facts:
            facts = super()._load(endpoint)
            wire.cut()
            if heal:
                wire.heal()
            return facts

    return CutAfterLoad


def test_a_broker_out_of_reach_keeps_the_destination_and_the_execution_its_result(
    tmp_path: Path, server: Running, wire: Wire, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "Execution", cut_after_the_load(wire, heal=False))
    quickly = partial(execution.delete_destinations, patience_s=0.0)
    monkeypatch.setattr(execution, "delete_destinations", quickly)
    notes = Notes()
    plan = planned(tmp_path, endpoints={"memory": Endpoint(addresses=(wire.address,))})
    run = runner.run(plan, tmp_path / "runs", say=notes)
    assert execution_state(run) == "finished"
    (kept,) = destinations(server, run)
    (left,) = left_behind(run)
    assert "destinations in memory" in left["what"]
    assert kept in left["what_to_do"]
    assert wire.address in left["what_to_do"]
    assert [text for text in notes.said if left["what"] in text and left["what_to_do"] in text]
    assert "Traceback" not in capfd.readouterr().err


def test_a_connection_that_was_cut_once_leaves_nothing_behind(
    tmp_path: Path, server: Running, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "Execution", cut_after_the_load(wire, heal=True))
    plan = planned(tmp_path, endpoints={"memory": Endpoint(addresses=(wire.address,))})
    run = runner.run(plan, tmp_path / "runs", say=Notes())
    assert execution_state(run) == "finished"
    assert destinations(server, run) == ()
    assert left_behind(run) == []


class StopsBadly:
    """A memory cluster that ends and is cleaned, and says that it was not."""

    def __init__(self, real: Cluster) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def stop(self) -> None:
        self._real.stop()
        raise OSError("no such process")

    def clean(self) -> None:
        self._real.clean()
        raise PermissionError("not ours")


@dataclass(frozen=True)
class StopsBadlyBroker(FrontDoor):
    def cluster(self, cell: CellPlan, directory: Path, logs: Path) -> Cluster:
        made: Any = StopsBadly(super().cluster(cell, directory, logs))
        return made


def test_a_cluster_that_cannot_be_stopped_or_cleaned_is_a_note_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "broker_named", lambda _name: StopsBadlyBroker(**vars(BROKER)))
    notes = Notes()
    run = runner.run(planned(tmp_path), tmp_path / "runs", say=notes)
    assert execution_state(run) == "finished"
    assert [left["what"] for left in left_behind(run)] == [
        "processes of memory: no such process",
        "the data of memory: not ours",
    ]
    assert len([text for text in notes.said if "clean-up failed" in text]) == 2
