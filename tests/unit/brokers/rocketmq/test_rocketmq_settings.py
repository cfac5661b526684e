"""Settings, levels, the lock and a broker's files, without a server."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "contract"))
from contract_load import cell_for

from brokerlab.brokers.rocketmq.broker import BROKER
from brokerlab.brokers.rocketmq.cluster import RocketCluster
from brokerlab.brokers.rocketmq.settings import durability_of, master_settings, planned_durability
from brokerlab.install.maven import read_lock
from brokerlab.model.plan import CellPlan, Durability


def cell(nodes: int, level: Durability, **settings: str) -> CellPlan:
    return cell_for("rocketmq", nodes, level, broker_settings=settings)


def reported(role: str, flush: str, copies: str = "2", automatic: str = "false", least: str = "1") -> dict[str, str]:
    names = ("brokerRole", "flushDiskType", "inSyncReplicas", "enableAutoInSyncReplicas", "minInSyncReplicas")
    return dict(zip(names, (role, flush, copies, automatic, least), strict=True))


@pytest.mark.parametrize(
    ("settings", "level"),
    [
        (reported("SYNC_MASTER", "SYNC_FLUSH"), Durability.L2),
        (reported("SYNC_MASTER", "ASYNC_FLUSH"), Durability.L2),
        (reported("ASYNC_MASTER", "SYNC_FLUSH"), Durability.L3),
        (reported("ASYNC_MASTER", "ASYNC_FLUSH"), Durability.L4),
        (reported("SYNC_MASTER", "SYNC_FLUSH", copies="1"), Durability.L3),  # waits for no slave
        (reported("SYNC_MASTER", "ASYNC_FLUSH", automatic="true"), Durability.L4),  # one copy may do
        (reported("SYNC_MASTER", "ASYNC_FLUSH", automatic="true", least="2"), Durability.L2),
        (reported("SLAVE", "SYNC_FLUSH"), Durability.L3),
        ({}, Durability.L4),
    ],
)
def test_the_level_follows_from_what_a_master_reports(settings: dict[str, str], level: Durability) -> None:
    assert durability_of(settings).level == level


def test_the_strongest_level_says_what_the_slave_has_not_done() -> None:
    assert "fsync" in durability_of(reported("SYNC_MASTER", "SYNC_FLUSH")).because["the slave"]


@pytest.mark.parametrize("nodes", [1, 2, 6])
def test_every_level_offered_is_planned_without_problems(nodes: int) -> None:
    for level in BROKER.capabilities.durability_levels[nodes]:
        assert BROKER.problems(cell(nodes, level)) == []
        assert planned_durability(cell(nodes, level)).level == level


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"flushDiskTyp": "SYNC_FLUSH"}, "did you mean 'flushDiskType'?"),
        ({"flushDiskType": "sync"}, "must be one of SYNC_FLUSH, ASYNC_FLUSH"),
        ({"flushDiskType": "SYNC_FLUSH"}, "give L3, not L4"),
        ({"inSyncReplicas": "3"}, "must be 1 or 2"),
        ({"allow_open_port": "yes"}, "must be true or false"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_plain_words(settings: dict[str, str], said: str) -> None:
    (problem,) = BROKER.problems(cell(1, Durability.L4, **settings))
    assert said in str(problem)


def test_what_is_ours_is_not_given_to_the_broker() -> None:
    assert "allow_open_port" not in master_settings(cell(2, Durability.L2, allow_open_port="true"))


def cluster_of(asked: CellPlan, directory: Path) -> Any:
    server: Any = SimpleNamespace(java=SimpleNamespace(path=Path("java")), jars=(Path("a.jar"),))
    return RocketCluster(asked, server, directory / "data", directory / "logs")


def conf(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if not line.startswith("#"))


def test_slaves_follow_their_own_master_and_every_port_is_bound_to_loopback(tmp_path: Path) -> None:
    cluster = cluster_of(cell(6, Durability.L2), tmp_path)
    brokers = [conf(cluster._broker_conf(number)) for number in range(6)]
    assert [b["brokerRole"] for b in brokers] == ["SYNC_MASTER", "SLAVE"] * 3
    assert [b["brokerName"] for b in brokers] == ["pair-1", "pair-1", "pair-2", "pair-2", "pair-3", "pair-3"]
    for master, slave in zip(brokers[::2], brokers[1::2], strict=True):
        assert slave["namesrvAddr"] == master["namesrvAddr"]
        assert (master["brokerId"], slave["brokerId"]) == ("0", "1")
    assert {b["bindAddress"] for b in brokers} == {"127.0.0.1"}
    assert len({b["storePathRootDir"] for b in brokers}) == 6
    taken = [
        int(b[name]) + below
        for b in brokers
        for name, below in (("listenPort", 0), ("listenPort", -2), ("haListenPort", 0))
    ]
    assert len(set(taken)) == 18


def test_servers_get_the_library_that_closes_their_port_unless_an_open_one_was_asked_for(tmp_path: Path) -> None:
    closed = cluster_of(cell(1, Durability.L4), tmp_path)
    opened = cluster_of(cell(1, Durability.L4, allow_open_port="true"), tmp_path)
    assert all("loopback" in process.env["LD_PRELOAD"] for process in closed._processes)
    assert not any("loopback" in process.env.get("LD_PRELOAD", "") for process in opened._processes)


def test_the_lock_has_one_version_of_every_artifact_and_rocketmqs_are_of_one() -> None:
    artifacts = read_lock(BROKER.recipe.lock_file)  # type: ignore[attr-defined]
    counted = Counter((a.group, a.name, a.classifier) for a in artifacts)
    assert [name for name, count in counted.items() if count > 1] == []
    own = {a.version for a in artifacts if a.name in ("rocketmq-namesrv", "rocketmq-broker", "rocketmq-store")}
    assert own == {BROKER.version}
