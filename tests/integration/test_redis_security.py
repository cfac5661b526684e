"""Redis with TLS and a password, replicated: who may connect, and where the password is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_load import cell_for, receive
from contract_servers import Running, running_server
from planted import WRONG, files_with, planted, private, shown_by_processes, with_security

from brokerlab.brokers.redis.broker import REDIS
from brokerlab.brokers.redis.connection import Connection
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Security

PLANTED = 'planted "secret" 7f3a'
REFERENCE = "env:BROKERLAB_TEST_PASSWORD"
SECURITY = Security(tls=True, user="lab", password=REFERENCE)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("redis")


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[Running]:
    """Three nodes at L1: replication, too, goes through TLS and the password."""
    cell = cell_for("redis", 3, Durability.L1, security=SECURITY)
    with planted(REFERENCE, PLANTED), running_server(REDIS, cell, directory) as running:
        yield running


def test_messages_pass_verified_at_the_level_asked_for(running: Running) -> None:
    name = running.destination("g")
    assert running.admin.durability((name,)).level == Durability.L1
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(500)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    (got,) = receive([consumer], 500)
    assert len(got) == 500
    assert all(m.intact for m in got)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"password": WRONG}, "refuses the user or password"),
        ({"user": "somebody"}, "refuses the user or password"),
        ({"user": None, "password": None}, "NOAUTH"),
        ({"tls": False}, "demand TLS"),
        ({"ca_file": None}, "certificate verify failed"),
    ],
)
def test_who_lacks_something_is_refused_and_told_so(running: Running, change: dict[str, object], said: str) -> None:
    with pytest.raises(BrokerError, match=said) as caught:
        running.broker.admin(with_security(running.endpoint, **change), running.cell)
    assert PLANTED not in str(caught.value)


def test_without_tls_or_password_not_even_a_ping_passes(running: Running) -> None:
    with pytest.raises(BrokerError):
        Connection(running.endpoint.addresses[0], None, "test")


def test_the_probe_reads_through_tls_and_password(running: Running) -> None:
    nodes = running.cluster.nodes()
    probe = running.broker.probe(running.endpoint, nodes)
    assert probe is not None
    assert {r.subject for r in probe.read()} == {f"broker:{node.name}" for node in nodes}


def test_the_password_is_in_no_log_command_line_or_environment_and_its_files_are_private(
    running: Running, directory: Path
) -> None:
    nodes = running.cluster.nodes()
    assert all(log.stat().st_size > 0 for log in (directory / "logs").iterdir())
    assert files_with("7f3a", directory / "logs") == []
    assert shown_by_processes("7f3a", of=[node.pid for node in nodes]) == []
    assert "7f3a" not in f"{nodes} {running.endpoint.model_dump_json()}"
    holding = files_with("7f3a", directory / "data")
    assert {p.name for p in holding} == {"node.conf"}, "replicas need it in clear"
    assert private(holding)
