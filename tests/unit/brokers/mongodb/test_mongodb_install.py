"""A mongod on PATH, where the user prefers it; otherwise FerretDB, which every result must name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "contract"))
from contract_load import cell_for

from brokerlab.brokers.mongodb.broker import BROKER
from brokerlab.brokers.mongodb.cluster import cluster_for
from brokerlab.model.plan import Durability, Security


@pytest.fixture
def mongod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "mongod"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'db version v8.0.4'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BROKERLAB_PREFER_PATH", raising=False)
    return program


def test_the_version_names_ferretdb(mongod: Path) -> None:  # noqa: ARG001 - on PATH, and not preferred
    assert BROKER.stand_in
    assert BROKER.installation().version == "FerretDB 2.7.0 on PostgreSQL 18"
    assert not BROKER.installation().installed


def test_a_mongod_is_taken_where_it_is_preferred(mongod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_PREFER_PATH", "mongodb")
    found = BROKER.installation()
    assert (found.installed, found.version, found.location) == (True, "MongoDB 8.0.4", mongod)
    assert BROKER.recipe.programs() == mongod
    journaled = cell_for("mongodb", 1, Durability.L3)
    assert BROKER.planned_durability(journaled).because == {"w": "1", "j": "true", "members": "1"}
    assert [p.field for p in BROKER.problems(cell_for("mongodb", 1, Durability.L3, security=Security(tls=True)))] == [
        ("security",)
    ]


def test_a_mongod_is_started_on_loopback_with_its_settings(mongod: Path, tmp_path: Path) -> None:
    cell = cell_for("mongodb", 1, Durability.L4, broker_settings={"wiredTigerCacheSizeGB": "0.5"})
    cluster = cluster_for(cell, mongod, tmp_path / "data", tmp_path / "logs")
    cluster.start()
    try:
        (node,) = cluster.nodes()
        command = cluster._processes[0].command
    finally:
        cluster.stop()
        cluster.clean()
    assert node.name == "mongod-1"
    assert command[command.index("--bind_ip") + 1] == "127.0.0.1"
    assert command[command.index("--wiredTigerCacheSizeGB") + 1] == "0.5"
    assert cluster.endpoint().options == {}
