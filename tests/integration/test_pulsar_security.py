"""Pulsar with TLS and a password, not syncing its journal: who may connect, where the password is not, what is synced."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_load import agent_plan, cell_for, receive
from contract_servers import Running, running_server
from planted import WRONG, files_with, planted, shown_by_processes, with_security

from brokerlab.brokers.pulsar.broker import BROKER
from brokerlab.brokers.pulsar.probe import sync_count
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Security

pytestmark = pytest.mark.timeout(900)
PLANTED = "planted-secret-7f3a"
REFERENCE = "env:BROKERLAB_TEST_PASSWORD"
SECURITY = Security(tls=True, user="lab", password=REFERENCE)
CELL = cell_for("pulsar", 1, Durability.L4, security=SECURITY)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pulsar")


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[Running]:
    with planted(REFERENCE, PLANTED), running_server(BROKER, CELL, directory) as running:
        yield running


def test_messages_pass_verified_at_the_level_asked_for(running: Running) -> None:
    name = running.destination("g")
    assert running.admin.durability((name,)).level == Durability.L4
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(300)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    (got,) = receive([consumer], 300)
    assert len(got) == 300
    assert all(m.intact for m in got)


def test_a_wrong_password_is_refused_in_words(running: Running) -> None:
    name = running.destination("g")
    endpoint = with_security(running.endpoint, password=WRONG)
    with pytest.raises(BrokerError, match="401") as refused:
        BROKER.admin(endpoint, CELL).create((name,), 1, ())
    assert refused.value.hint
    with pytest.raises(BrokerError, match="401") as refused:
        BROKER.producer(agent_plan(CELL, endpoint, (name,)), 0)
    assert refused.value.hint
    with pytest.raises(BrokerError, match="401"):
        BROKER.consumer(agent_plan(CELL, endpoint, (name,), running.group("g")), 0)


def test_no_password_at_all_is_refused(running: Running) -> None:
    name = running.destination()
    endpoint = with_security(running.endpoint, user=None, password=None)
    with pytest.raises(BrokerError, match="401"):
        BROKER.producer(agent_plan(CELL, endpoint, (name,)), 0)


def test_a_plain_connection_is_refused(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brokerlab.brokers.pulsar.client.OPERATION_TIMEOUT_S", 3)
    monkeypatch.setattr("brokerlab.brokers.pulsar.opening.PATIENCE_S", 3)
    name = running.destination()
    plain = {k: v.replace("https:", "http:") for k, v in running.endpoint.options.items()}
    endpoint = running.endpoint.model_copy(update={"security": None, "options": plain})
    with pytest.raises(BrokerError, match="does not answer"):
        BROKER.admin(endpoint, CELL).create((name,), 1, ())
    for driver in ("python", "auto"):
        with pytest.raises(BrokerError, match="cannot publish"):
            BROKER.producer(agent_plan(CELL, endpoint, (name,)).model_copy(update={"driver": driver}), 0)


def test_the_password_is_in_no_file_no_command_line_and_no_servers_environment(
    running: Running, directory: Path
) -> None:
    nodes = running.cluster.nodes()
    assert {"pulsar-1.log", "standalone.conf"} <= {path.name for path in directory.rglob("*")}
    assert files_with(PLANTED, directory) == []
    assert shown_by_processes(PLANTED, of=[node.pid for node in nodes]) == []
    assert PLANTED not in str(nodes)


def test_the_probe_reads_a_protected_broker(running: Running) -> None:
    probe = BROKER.probe(running.cluster.endpoint(), running.cluster.nodes())
    assert probe is not None
    assert "topics" in {r.metric for r in probe.read()}


def test_acknowledged_writes_are_hardly_synced_when_the_journal_does_not_sync(running: Running) -> None:
    (bookie,) = running.endpoint.options["bookies"].split(",")
    name = running.destination()
    computed = running.admin.durability((name,))
    assert computed.because["journalSyncData"] == "false"
    sender = running.sender(name)
    before = sync_count(bookie)
    begun = time.monotonic()
    for _ in range(200):
        sender.send(1)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}
    time.sleep(2.5)  # counts are published once a second
    # A timer flushes the page cache once a second; it is not the writes that do.
    assert sync_count(bookie) - before < 100 + (time.monotonic() - begun)
