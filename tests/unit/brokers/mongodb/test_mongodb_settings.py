"""Levels by what a server waits for, and settings that cannot be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "contract"))
from contract_load import cell_for

from brokerlab.brokers.kit.database_cluster import loopback_settings
from brokerlab.brokers.kit.database_settings import server_settings
from brokerlab.brokers.mongodb.broker import BROKER
from brokerlab.brokers.mongodb.cluster import EXTENSION
from brokerlab.brokers.mongodb.settings import by_commit, by_write_concern, write_concern
from brokerlab.model.plan import CellPlan, Durability, Security

L1, L2, L3, L4 = Durability


def cell(level: Durability = L3, **changes: object) -> CellPlan:
    return cell_for("mongodb", 1, level, **changes)


@pytest.fixture(autouse=True)
def nothing_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROKERLAB_PREFER_PATH", raising=False)


@pytest.mark.parametrize("level", [L3, L4])
def test_what_we_set_leads_to_the_level_asked_for(level: Durability) -> None:
    assert BROKER.problems(cell(level)) == []
    assert BROKER.planned_durability(cell(level)).level == level
    assert by_commit(server_settings(cell(level))).level == level


@pytest.mark.parametrize(
    ("reported", "level"),
    [
        ({"synchronous_commit": "on", "fsync": "on"}, L3),
        ({"synchronous_commit": "local", "fsync": "on"}, L3),
        ({"synchronous_commit": "off", "fsync": "on"}, L4),
        ({"synchronous_commit": "on", "fsync": "off"}, L4),
        ({}, L4),
    ],
)
def test_ferretdb_is_judged_by_its_database_and_by_nothing_else(reported: dict[str, str], level: Durability) -> None:
    found = by_commit(reported)
    assert found.level == level
    assert "FerretDB" in found.because["server"]


@pytest.mark.parametrize(
    ("w", "j", "members", "level"),
    [
        ("majority", "true", 3, L1),
        ("2", "true", 3, L1),
        ("majority", "false", 3, L2),
        ("1", "true", 3, L3),
        ("1", "false", 3, L4),
        ("majority", "true", 1, L3),  # a majority of one is no second copy
        ("majority", "false", 1, L4),
    ],
)
def test_mongodb_is_judged_by_the_write_concern_and_its_members(
    w: str, j: str, members: int, level: Durability
) -> None:
    assert by_write_concern(write_concern(L4, {"w": w, "j": j}), members).level == level


@pytest.mark.parametrize("level", Durability)
def test_every_level_can_be_asked_of_a_server_given_by_its_address(level: Durability) -> None:
    assert BROKER.problems(cell(level, endpoint=("db.example.org:27017",))) == []


def test_a_setting_that_gives_another_level_is_refused() -> None:
    (problem,) = BROKER.problems(cell(L3, broker_settings={"synchronous_commit": "off"}))
    assert problem.field == ("durability",)
    assert "give L4, not L3" in problem.message


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"broker_settings": {"synchronous_comit": "on"}}, ("broker_settings", "synchronous_comit"), "no such setting"),
        ({"broker_settings": {"fsync": "maybe"}}, ("broker_settings", "fsync"), "one of on, off"),
        ({"client_settings": {"w": "0"}}, ("client_settings", "w"), "majority"),
        ({"client_settings": {"j": "yes"}}, ("client_settings", "j"), "true or false"),
        ({"client_settings": {"visibility_timeout": "0s"}}, ("client_settings", "visibility_timeout"), "a duration"),
        ({"client_settings": {"batch_messages": "0"}}, ("client_settings", "batch_messages"), "above 0"),
        ({"security": Security(user='o"o', password="env:X")}, ("security", "user"), "in the name"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(
    changes: dict[str, object], field: tuple[str, ...], said: str
) -> None:
    (problem,) = BROKER.problems(cell(**changes))
    assert problem.field == field
    assert said in problem.message


def test_settings_of_a_server_of_ours_cannot_be_given_to_one_that_runs_already() -> None:
    given = cell(endpoint=("db.example.org:27017",), broker_settings={"fsync": "on"})
    assert [p.field for p in BROKER.problems(given)] == [("broker_settings", "fsync")]


def test_the_database_listens_on_loopback_only() -> None:
    text = loopback_settings(5433, EXTENSION | server_settings(cell(L4)))
    assert "listen_addresses = '127.0.0.1'" in text
    assert "unix_socket_directories = ''" in text
    assert "synchronous_commit = 'off'" in text
