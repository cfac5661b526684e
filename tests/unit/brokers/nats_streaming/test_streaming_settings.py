"""Levels, settings and the servers' configuration."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "contract"))
from contract_load import cell_for

from brokerlab.brokers.nats_streaming.broker import BROKER
from brokerlab.brokers.nats_streaming.cluster import configuration
from brokerlab.model.plan import Durability, Security

ONE, THREE = cell_for("nats-streaming", 1, Durability.L4), cell_for("nats-streaming", 3, Durability.L2)


def test_three_nodes_are_replicated_and_fsync_is_never_claimed() -> None:
    assert BROKER.problems(ONE) == []
    assert BROKER.problems(THREE) == []
    synced = ONE.model_copy(update={"broker_settings": {"sync": "true"}})
    assert BROKER.planned_durability(synced).level == Durability.L4
    assert "not reported" in BROKER.planned_durability(synced).because["sync"]


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("broker_settings", "sync", "yes"),
        ("broker_settings", "store", "sql"),
        ("client_settings", "max_in_flight", "0"),
        ("client_settings", "ack_wait", "30"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(kind: str, name: str, value: str) -> None:
    assert [p.field for p in BROKER.problems(ONE.model_copy(update={kind: {name: value}}))] == [(kind, name)]


def test_settings_of_servers_are_refused_for_those_of_the_user() -> None:
    elsewhere = ONE.model_copy(update={"endpoint": ("10.0.0.1:4222",), "broker_settings": {"sync": "true"}})
    assert [p.field for p in BROKER.problems(elsewhere)] == [("broker_settings", "sync")]


def test_a_node_listens_on_loopback_and_loses_nothing_to_limits() -> None:
    text = configuration("n1", (1, 2, 3), Path("/a b"), ONE, {"n1": "nats://h:3"}, None)
    assert "listen: 127.0.0.1:1\nhttp: 127.0.0.1:2\n" in text
    assert "max_msgs: 0, max_bytes: 0" in text
    assert "cluster {" not in text
    assert "sync_on_flush: false" in text


def test_nodes_of_a_cluster_know_each_other() -> None:
    text = configuration("n1", (1, 2, 3), Path("/d"), THREE, {"n1": "nats://h:3", "n2": "nats://h:4"}, None)
    assert 'cluster { name: brokerlab, listen: 127.0.0.1:3, routes: ["nats://h:4"] }' in text
    assert 'node_id: "n1", peers: ["n1", "n2"], log_path: "/d/raft", sync: false' in text


def test_a_password_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", 'a"b\\c')
    cell = ONE.model_copy(update={"security": Security(user="u", password="env:SECRET")})
    text = configuration("n1", (1, 2, 3), Path("/d"), cell, {"n1": "nats://h:3"}, None)
    assert 'authorization { user: "u", password: "a\\"b\\\\c" }' in text
