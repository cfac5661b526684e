"""Which cluster an execution gets: the kept one where it is equal and alive, a fresh one else, and never two at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from brokerlab.clusters import Clusters
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import CellPlan, Durability, KillPlan, Security
from brokerlab.take_down import TakeDown
from synthetic import make_plan

FIRST = ExecutionId(cell="c01", repeat=1)
DATA = Path("clusters/c01-r1")


def cell(**changed: object) -> CellPlan:
    return make_plan("run", cells=1).cells[0].model_copy(update={"kept_cluster": True, **changed})


@dataclass
class NotedCluster:
    """As much of a cluster as is asked of a held one."""

    done: list[str] = field(default_factory=list)
    dead: tuple[str, ...] = ()
    fails: bool = False

    def dead_nodes(self) -> tuple[str, ...]:
        return self.dead

    def stop(self) -> None:
        self.done.append("stop")

    def clean(self) -> None:
        self.done.append("clean")
        if self.fails:
            raise OSError("busy")


@pytest.fixture
def told() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def clusters(told: list[tuple[str, str]]) -> Clusters:
    return Clusters(lambda what, to_do: told.append((what, to_do)))


@pytest.mark.parametrize(
    "other",
    [
        {"cell": "c02", "label": "other"},
        {"client_settings": {"acks": "0"}},
        {"partitions": 7, "destinations": 3},
        {"driver": "python"},
    ],
)
def test_what_clients_do_does_not_matter(clusters: Clusters, other: dict[str, object]) -> None:
    cluster = NotedCluster()
    clusters.hold(cluster, cell(), DATA, FIRST)  # type: ignore[arg-type]
    held = clusters.kept_for(cell(**other))
    assert held is not None
    assert (held.cluster, held.started_for, held.executions) == (cluster, "c01-r1", 2)
    assert clusters.kept_for(cell()).executions == 3  # type: ignore[union-attr]
    assert cluster.done == []


@pytest.mark.parametrize(
    "other",
    [
        {"broker": "nats"},
        {"nodes": 3},
        {"durability": Durability.L2},
        {"broker_settings": {"num.io.threads": "2"}},
        {"security": Security(tls=True)},
        {"kept_cluster": False},
        {"faults": (KillPlan(target="leader", at_s=1),)},
    ],
)
def test_another_server_is_a_fresh_cluster_after_the_kept_one_has_ended(
    clusters: Clusters, other: dict[str, object]
) -> None:
    cluster = NotedCluster()
    clusters.hold(cluster, cell(), DATA, FIRST)  # type: ignore[arg-type]
    assert clusters.kept_for(cell(**other)) is None
    assert cluster.done == ["stop", "clean"]


def test_a_cluster_with_a_dead_node_is_not_used_again(clusters: Clusters) -> None:
    cluster = NotedCluster(dead=("kafka-1",))
    clusters.hold(cluster, cell(), DATA, FIRST)  # type: ignore[arg-type]
    assert clusters.kept_for(cell()) is None
    assert cluster.done == ["stop", "clean"]


def test_the_last_one_ends_with_the_run_once_and_what_is_left_is_told(
    clusters: Clusters, told: list[tuple[str, str]]
) -> None:
    cluster = NotedCluster(fails=True)
    with clusters:
        clusters.hold(cluster, cell(), DATA, FIRST)  # type: ignore[arg-type]
    clusters.end()
    assert cluster.done == ["stop", "clean"]
    ((what, to_do),) = told
    assert "busy" in what
    assert "clusters/c01-r1" in to_do


def test_an_execution_that_keeps_it_ends_nothing_and_one_that_does_not_ends_all(clusters: Clusters) -> None:
    cluster = NotedCluster()
    held = clusters.hold(cluster, cell(), DATA, FIRST)  # type: ignore[arg-type]
    for wanted, done in ((False, []), (True, ["stop", "clean"])):
        with TakeDown(lambda *_: None) as down:
            clusters.add_end(down, held, lambda wanted=wanted: wanted)
        assert cluster.done == done
    assert clusters.kept_for(cell()) is None
    assert cluster.done == ["stop", "clean"]
