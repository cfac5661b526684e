"""What a cell may ask of SQS, and what its levels are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "contract"))
from contract_load import cell_for

from brokerlab.brokers.sqs.broker import BROKER
from brokerlab.brokers.sqs.cluster import configuration
from brokerlab.model.plan import Durability, KillPlan

CELL = cell_for("sqs", 1, Durability.L4)


def fields(**changes: object) -> list[tuple[str, ...]]:
    return [problem.field for problem in BROKER.problems(CELL.model_copy(update=changes))]


def test_every_storage_is_the_weakest_level() -> None:
    for storage in ("memory", "file"):
        assert fields(broker_settings={"storage": storage}) == []
    assert fields(broker_settings={"storage": "file"}, durability=Durability.L3) == [("durability",)]


def test_a_node_that_keeps_nothing_in_files_is_not_killed() -> None:
    faults = (KillPlan(target="leader", at_s=1.0, restart_after_s=1.0),)
    assert fields(faults=faults) == [("faults",)]
    assert fields(faults=faults, broker_settings={"storage": "file"}) == []


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("broker_settings", "visibility_timeout_s", "0"),
        ("broker_settings", "visibility_timeout_s", "43201"),
        ("broker_settings", "storage", "tape"),
        ("client_settings", "wait_s", "21"),
        ("client_settings", "connections", "0"),
        ("client_settings", "pols", "2"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(kind: str, name: str, value: str) -> None:
    assert fields(**{kind: {name: value}}) == [(kind, name)]


def test_storage_is_a_setting_of_servers_started_here() -> None:
    elsewhere = {"endpoint": ("sqs.eu-west-1.amazonaws.com:443",)}
    assert fields(**elsewhere) == []
    assert fields(**elsewhere, broker_settings={"storage": "file"}) == [("broker_settings", "storage")]


def test_a_server_listens_on_loopback_and_keeps_messages_only_where_asked() -> None:
    memory = configuration(1, 2, None)
    assert memory.count('bind-hostname = "127.0.0.1"') == 2
    assert "storage" not in memory
    assert 'jdbc:h2:/a \\"b\\"/messages' in configuration(1, 2, Path('/a "b"'))
