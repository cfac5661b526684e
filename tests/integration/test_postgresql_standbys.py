"""PostgreSQL for real, a primary with two standbys: TLS and password, promises, lost nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from contract_load import Sender, cell_for, deadline, receive
from contract_servers import Running, running_server
from planted import WRONG, files_with, planted, shown_by_processes, with_security

from brokerlab.brokers.postgresql.broker import BROKER
from brokerlab.brokers.postgresql.cluster import PostgresqlCluster
from brokerlab.brokers.postgresql.connection import conninfo
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN
from brokerlab.model.plan import CellPlan, Durability, Security

PASSWORD = "planted: s3cret\\'word"
REFERENCE = "env:BROKERLAB_TEST_POSTGRESQL"


@pytest.fixture(scope="module")
def cell() -> CellPlan:
    security = Security(tls=True, user="some body", password=REFERENCE)
    return cell_for("postgresql", 3, Durability.L1, security=security)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, cell: CellPlan) -> Iterator[Running]:
    """Tests of this file run in their order: the last ones kill nodes."""
    directory = tmp_path_factory.mktemp("standbys")
    with planted(REFERENCE, PASSWORD), running_server(BROKER, cell, directory) as running:
        yield running
    assert files_with("s3cret", directory / "logs") == []


def cluster_of(server: Running) -> PostgresqlCluster:
    assert isinstance(server.cluster, PostgresqlCluster)
    return server.cluster


def until(condition: Callable[[], bool], what: str) -> None:
    end = deadline()
    while not condition():
        assert time.monotonic_ns() < end, what
        time.sleep(0.02)


def test_messages_pass_over_tls_with_a_password_and_are_verified(server: Running) -> None:
    name = server.destination("g")
    consumer = server.consumer("g", name)
    sender = server.sender(name)
    sender.send(200)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    (got,) = receive([consumer], 200)
    assert all(m.intact for m in got)
    assert len(got) == 200


def test_the_standbys_follow_over_tls_too(server: Running) -> None:
    with psycopg.connect(conninfo(server.endpoint, "test")) as session:
        rows = session.execute(
            "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE backend_type = 'walsender'"
        ).fetchall()
    assert rows == [(True,), (True,)]


def test_a_wrong_password_is_refused_with_a_clear_error(server: Running, cell: CellPlan) -> None:
    with pytest.raises(BrokerError, match="password authentication failed") as refused:
        BROKER.admin(with_security(server.endpoint, password=WRONG), cell)
    assert "security" in (refused.value.hint or "")


def test_a_plain_connection_and_one_that_trusts_another_authority_are_refused(
    server: Running, cell: CellPlan, tmp_path: Path
) -> None:
    with pytest.raises(BrokerError, match="no encryption"):
        BROKER.admin(with_security(server.endpoint, tls=False), cell)
    from brokerlab.brokers.kit.certificates import make_certificates

    other = str(make_certificates(tmp_path).ca_file)
    with pytest.raises(BrokerError, match="certificate verify failed"):
        BROKER.admin(with_security(server.endpoint, ca_file=other), cell)


def test_the_password_is_in_no_command_line_environment_or_endpoint_of_ours(server: Running) -> None:
    nodes = server.cluster.nodes()
    assert shown_by_processes("s3cret", of=[node.pid for node in nodes]) == []
    assert "s3cret" not in server.endpoint.model_dump_json()
    assert "s3cret" not in repr(nodes)


def test_the_probe_reads_with_the_password_by_reference(server: Running) -> None:
    probe = BROKER.probe(server.cluster.endpoint(), server.cluster.nodes())
    assert probe is not None
    metrics = {r.metric for r in probe.read() if r.subject == "broker:postgresql-1"}
    assert {"commits_total", "wal_bytes_total", "standby_s2_behind_bytes", "standby_s3_behind_bytes"} <= metrics


def test_the_promise_names_what_the_standbys_do(server: Running) -> None:
    name = server.destination()
    computed = server.admin.durability((name,))
    assert computed.level == Durability.L1
    assert computed.because["synchronous_standby_names"] == "ANY 1 (s2, s3)"
    assert computed.because["synchronous standbys connected"] == "2"
    with psycopg.connect(conninfo(server.endpoint, "test"), autocommit=True) as session:
        session.execute("ALTER SYSTEM SET synchronous_commit = 'remote_write'")
        session.execute("SELECT pg_reload_conf()")
        try:
            until(lambda: server.admin.durability((name,)).level == Durability.L2, "remote_write is not seen")
            promise = server.admin.durability((name,)).because["promise"]
            assert "fsynced on the primary" in promise
            assert "in memory" in promise
        finally:
            session.execute("ALTER SYSTEM RESET synchronous_commit")
            session.execute("SELECT pg_reload_conf()")
    until(lambda: server.admin.durability((name,)).level == Durability.L1, "the reset is not seen")


def _open_after(sender: Sender, count: int) -> None:
    """Send, and find all of it still open a moment later."""
    sender.send(count)
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        sender.collect()
    assert len(sender.outcomes) == sender.taken - count


def test_one_standby_less_changes_nothing_and_none_left_makes_commits_wait(server: Running) -> None:
    cluster = cluster_of(server)
    name = server.destination("g")
    sender = server.sender(name)
    assert cluster.leading_node(name) == "postgresql-1"
    with pytest.raises(KeyError):
        cluster.kill_node("postgresql-9")
    cluster.kill_node("postgresql-2")
    assert cluster.dead_nodes() == ()
    sender.send(50)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    cluster.kill_node("postgresql-3")
    with psycopg.connect(conninfo(server.endpoint, "test"), autocommit=True) as session:
        until(lambda: session.execute("SELECT count(*) FROM pg_stat_replication").fetchone() == (0,), "standbys stay")
        _open_after(sender, 5)
        session.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'producer-1-0'")
        outcomes = sender.settle()
    assert [outcomes[i] for i in range(50, 55)] == [UNKNOWN] * 5, "committed here, on no standby: nobody may say more"
    assert any("canceling wait for synchronous replication" in error for error in sender.errors)


def test_nothing_takes_over_from_a_primary_that_is_lost(server: Running) -> None:
    cluster = cluster_of(server)
    name = server.destinations[-1]
    sender = server.sender(name, number=1)
    processes = [psutil.Process(n.pid) for n in cluster.nodes() if n.name == "postgresql-1"]
    processes += processes[0].children(recursive=True)
    sender.send(5)
    cluster.kill_node("postgresql-1")
    assert set(sender.settle().values()) == {UNKNOWN}
    assert not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)
    with pytest.raises(BrokerError, match="no PostgreSQL node takes writes"):
        cluster.leading_node(name)
