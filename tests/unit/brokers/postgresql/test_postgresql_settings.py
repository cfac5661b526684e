"""What a cell's settings mean for PostgreSQL, and the files that follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.brokers.kit.database_cluster import password_line
from brokerlab.brokers.kit.database_settings import LeaseSettings, commit_level
from brokerlab.brokers.postgresql.broker import BROKER
from brokerlab.brokers.postgresql.configuration import follow_line, server_file
from brokerlab.brokers.postgresql.settings import planned_durability, settings_of, transactions_in_flight
from brokerlab.brokers.postgresql.tables import NAME_BYTES, quoted, schema_name
from brokerlab.model import plan as model
from brokerlab.model.plan import CellPlan, Durability, Security


def problems_of(wanted: CellPlan) -> list[str]:
    return [str(problem) for problem in BROKER.problems(wanted)]


def cell(nodes: int = 1, durability: Durability = Durability.L3, **changes: object) -> model.CellPlan:
    values: dict[str, object] = {
        "cell": "c01",
        "label": "test",
        "broker": "postgresql",
        "nodes": nodes,
        "durability": durability,
        "destinations": 1,
        "partitions": 1,
        "producers": model.ProducersPlan(
            count=1, agents=1, schedule=model.SchedulePlan(rate_per_s=1), payload=model.PayloadPlan()
        ),
        "consumers": model.ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
        "phases": model.PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=1),
        "parameters": {},
        "broker_settings": {},
        "client_settings": {},
    }
    return model.CellPlan(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("nodes", "level"),
    [(n, level) for n, levels in BROKER.capabilities.durability_levels.items() for level in levels],
)
def test_every_level_offered_follows_from_the_settings_chosen_for_it(nodes: int, level: Durability) -> None:
    assert problems_of(cell(nodes, level)) == []
    assert planned_durability(cell(nodes, level)).level == level


@pytest.mark.parametrize(
    ("commit", "waits", "fsync", "level"),
    [
        ("on", True, True, Durability.L1),
        ("remote_apply", True, True, Durability.L1),
        ("on", True, False, Durability.L2),
        ("remote_write", True, True, Durability.L2),
        ("local", True, True, Durability.L3),
        ("on", False, True, Durability.L3),
        ("remote_write", False, True, Durability.L3),
        ("on", False, False, Durability.L4),
        ("off", True, True, Durability.L4),
    ],
)
def test_the_level_follows_from_what_a_commit_waits_for(
    commit: str, waits: bool, fsync: bool, level: Durability
) -> None:
    assert commit_level(commit, waits, fsync) == level


@pytest.mark.parametrize(
    ("broker_settings", "said"),
    [
        ({"synchronous_comit": "on"}, "did you mean 'synchronous_commit'"),
        ({"synchronous_commit": "maybe"}, "must be one of"),
        ({"synchronous_commit": "off"}, "give L4, not L3"),
        ({"fsync": "off"}, "give L4, not L3"),
        ({"shared_buffers": "lots"}, "must be a size such as 128MB"),
        ({"synchronous_standbys": "1"}, "up to the 0 standbys"),
    ],
)
def test_server_settings_that_cannot_be_are_refused(broker_settings: dict[str, str], said: str) -> None:
    found = problems_of(cell(broker_settings=broker_settings))
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize("given", [{"in_flight": "0"}, {"poll_interval": "soon"}, {"visibility_timeout": "0s"}])
def test_client_settings_that_cannot_be_are_refused(given: dict[str, str]) -> None:
    (found,) = problems_of(cell(client_settings=given))
    assert next(iter(given)) in found


def test_tls_of_our_own_server_needs_a_password() -> None:
    assert problems_of(cell(security=Security(tls=True)))
    assert problems_of(cell(security=Security(tls=True, user="u", password="env:P"))) == []
    assert problems_of(cell(security=Security(tls=True), endpoint=("db:5432",))) == []


def test_a_user_that_initdb_refuses_is_refused_before_anything_starts() -> None:
    (found,) = problems_of(cell(security=Security(user="o'neil", password="env:P")))
    assert "security.user" in found


def test_client_settings_are_read_in_their_units() -> None:
    settings = LeaseSettings.of({"visibility_timeout": "2min", "poll_interval": "500us"})
    assert (settings.visibility_ns, settings.poll_ns) == (120_000_000_000, 500_000)
    assert (settings.batch_messages, settings.batch_bytes) == (1000, 1 << 20)
    assert transactions_in_flight({}) == 2
    assert transactions_in_flight({"in_flight": "7"}) == 7


def test_the_server_file_asks_for_the_standbys_a_commit_waits_for_and_opens_no_unix_socket() -> None:
    text = server_file(5432, settings_of(cell(3, Durability.L1)), 2, None)
    assert "synchronous_standby_names = 'ANY 1 (s2, s3)'\n" in text
    assert "synchronous_commit = 'on'\n" in text
    assert "unix_socket_directories = ''\n" in text
    assert "listen_addresses = '127.0.0.1'\n" in text
    alone = server_file(5432, settings_of(cell(3, Durability.L3)), 2, None)
    assert "synchronous_standby_names" not in alone


def test_paths_and_passwords_with_odd_characters_are_escaped() -> None:
    line = follow_line(1, 2, "o'neil", Path("/a b/p'w"), None)
    assert line == (
        "primary_conninfo = 'host=127.0.0.1 port=1 user=''o\\\\''neil'' application_name=s2 "
        "passfile=''/a b/p\\\\''w'''\n"
    )
    assert password_line("u", "a:b\\c") == "*:*:*:u:a\\:b\\\\c\n"


def test_schema_names_stay_different_though_postgresql_would_cut_them() -> None:
    first, second = "x" * 80 + "1", "x" * 80 + "2"
    assert schema_name(first) != schema_name(second)
    assert len(schema_name(first).encode()) <= NAME_BYTES
    assert schema_name("plain") == "plain"
    assert quoted('a"b') == '"a""b"'
