"""FerretDB on PostgreSQL with TLS and a password; and a port that is open though the database is gone."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_load import agent_plan, cell_for, deadline, receive, wait_remaining
from contract_servers import Running, running_server
from planted import WRONG, files_with, planted, private, shown_by_processes, with_security

from brokerlab.brokers.mongodb.broker import BROKER
from brokerlab.brokers.mongodb.cluster import DATABASE
from brokerlab.errors import BrokerError, NotReadyError
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN
from brokerlab.model.plan import Durability, Security

PASSWORD = 'plänted "secret" # \\ ${x} %:/@\' 7a2c'  # every character that needs care somewhere
REFERENCE = "env:BROKERLAB_TEST_MONGODB_PASSWORD"
SECURITY = Security(tls=True, user="mary@lab", password=REFERENCE)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mongodb")


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[Running]:
    cell = cell_for("mongodb", 1, Durability.L3, security=SECURITY)
    with planted(REFERENCE, PASSWORD), running_server(BROKER, cell, directory) as running:
        yield running


def test_messages_pass_and_everything_is_read_back(running: Running) -> None:
    name = running.destination("g")
    settings = running.admin.effective_settings((name,))
    assert settings["server"]["product"] == "FerretDB"
    assert settings["server"]["version"] == "v2.7.0"
    assert settings["postgresql"]["synchronous_commit"] == "on"
    computed = running.admin.durability((name,))
    assert computed.level == Durability.L3
    assert "ignores the write concern" in computed.because["server"]
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(200)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    (got,) = receive([consumer], 200)
    assert all(m.intact for m in got)
    wait_remaining(consumer, 0)
    probe = BROKER.probe(running.endpoint, running.cluster.nodes())
    assert probe is not None
    assert {r.subject for r in probe.read()} == {"broker:ferretdb-1", "broker:postgresql-1"}


@pytest.mark.parametrize(
    "change",
    [{"password": WRONG}, {"user": "somebody"}, {"user": None, "password": None}, {"tls": False}, {"ca_file": None}],
)
def test_whoever_lacks_something_is_refused(running: Running, change: dict[str, object]) -> None:
    endpoint = with_security(running.endpoint, **change)
    for connect in (
        lambda: BROKER.producer(agent_plan(running.cell, endpoint, ("d",)), 0),
        lambda: BROKER.consumer(agent_plan(running.cell, endpoint, ("d",), "g"), 0),
        lambda: BROKER.admin(endpoint, running.cell).create(("d",), 1, ()),
    ):
        with pytest.raises(BrokerError) as told:
            connect()
        assert "7a2c" not in str(told.value)


def test_the_password_shows_nowhere(running: Running, directory: Path) -> None:
    assert shown_by_processes("7a2c", of=[node.pid for node in running.cluster.nodes()]) == []
    assert files_with("7a2c", directory / "logs") == []
    secret = files_with("7a2c", directory / "data")
    assert {path.name for path in secret} == {"postgresql-url", "password"}
    assert private(secret)
    assert "7a2c" not in str(running.admin.effective_settings(()))


def test_a_port_that_is_open_proves_nothing(running: Running) -> None:
    """Last: the database alone is killed. FerretDB's port stays open, readiness is not proven, nothing is acknowledged."""
    name = running.destination("g")
    sender = running.sender(name)
    (database,) = [p for p in running.cluster._processes if p.name == DATABASE]  # type: ignore[attr-defined]
    database.kill()
    host, port = running.endpoint.addresses[0].rsplit(":", 1)
    socket.create_connection((host, int(port)), 10).close()
    with pytest.raises(NotReadyError):
        running.cluster.wait_ready(deadline(3))
    sender.send(20)
    assert set(sender.settle().values()) == {UNKNOWN}
    running.destinations.clear()
