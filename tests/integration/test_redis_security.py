"""Redis with TLS and a password, replicated: who may connect, and where the password is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "contract"))
from contract_load import cell_for, receive
from contract_servers import Running, start

from brokerlab.brokers.redis.broker import REDIS
from brokerlab.brokers.redis.connection import Connection
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Security

PLANTED = 'planted "secret" 7f3a'
SECURITY = Security(tls=True, user="lab", password="env:BROKERLAB_TEST_PASSWORD")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("redis")


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[Running]:
    """Three nodes at L1: replication, too, goes through TLS and the password."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BROKERLAB_TEST_PASSWORD", PLANTED)
        patch.setenv("BROKERLAB_TEST_WRONG", "something else")
        cell = cell_for("redis", 3, Durability.L1, security=SECURITY)
        cluster = start(REDIS, cell, directory)
        admin = REDIS.admin(cluster.endpoint(), cell)
        try:
            yield Running(REDIS, cell, cluster, admin)
        finally:
            admin.close()
            cluster.stop()
            cluster.clean()


@pytest.fixture
def running(server: Running) -> Iterator[Running]:
    yield server
    server.end_test()


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
        ({"password": "env:BROKERLAB_TEST_WRONG"}, "refuses the user or password"),
        ({"user": "somebody"}, "refuses the user or password"),
        ({"user": None, "password": None}, "NOAUTH"),
        ({"tls": False}, "demand TLS"),
        ({"ca_file": None}, "certificate verify failed"),
    ],
)
def test_who_lacks_something_is_refused_and_told_so(running: Running, change: dict[str, object], said: str) -> None:
    endpoint = running.endpoint
    assert endpoint.security is not None
    lacking = endpoint.model_copy(update={"security": endpoint.security.model_copy(update=change)})
    with pytest.raises(BrokerError, match=said) as caught:
        running.broker.admin(lacking, running.cell)
    assert PLANTED not in str(caught.value)


def test_without_tls_or_password_not_even_a_ping_passes(running: Running) -> None:
    with pytest.raises(BrokerError):
        Connection(running.endpoint.addresses[0], None, "test")


def test_the_probe_reads_through_tls_and_password(running: Running) -> None:
    nodes = running.cluster.nodes()
    probe = running.broker.probe(nodes)
    assert probe is not None
    assert {r.subject for r in probe.read()} == {f"broker:{node.name}" for node in nodes}


def test_the_password_is_in_no_log_command_line_or_environment_and_its_files_are_private(
    running: Running, directory: Path
) -> None:
    logs = list((directory / "logs").iterdir())
    assert len(logs) == 3
    for log in logs:
        assert log.stat().st_size > 0
        assert PLANTED not in log.read_text(errors="replace")
    for node in running.cluster.nodes():
        process = psutil.Process(node.pid)
        assert PLANTED not in "\0".join(process.cmdline())
        assert PLANTED not in process.environ().values()
        assert PLANTED not in str(node)
    assert PLANTED not in running.endpoint.model_dump_json()
    holding = [p for p in (directory / "data").rglob("*") if p.is_file() and b"7f3a" in p.read_bytes()]
    assert {p.name for p in holding} == {"node.conf"}, "replicas need it in clear"
    assert all(p.stat().st_mode & 0o077 == 0 for p in holding)
