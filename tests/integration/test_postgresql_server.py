"""PostgreSQL for real, one node: under root, errors at commit, sessions ended by the server, leases."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from contract_load import agent_plan, cell_for, deadline, receive, wait_remaining
from contract_servers import Running, running_server

from brokerlab.brokers.postgresql.broker import BROKER
from brokerlab.brokers.postgresql.cluster import PostgresqlCluster
from brokerlab.brokers.postgresql.connection import Connection, conninfo
from brokerlab.brokers.postgresql.tables import quoted
from brokerlab.install.cache import silent
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN
from brokerlab.model.plan import Durability


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """In a directory that nobody but its owner can enter, as a run under root's home is."""
    directory = tmp_path_factory.mktemp("closed")
    directory.chmod(0o700)
    cell = cell_for("postgresql", 1, Durability.L3)
    with running_server(BROKER, cell, directory) as running:
        yield running


@pytest.fixture
def session(server: Running) -> Iterator[Connection]:
    with psycopg.connect(conninfo(server.endpoint, "test"), autocommit=True) as connection:
        yield connection


def until(condition: Callable[[], bool], what: str) -> None:
    end = deadline()
    while not condition():
        assert time.monotonic_ns() < end, what
        time.sleep(0.02)


def family(pid: int) -> list[psutil.Process]:
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def test_started_by_root_it_runs_as_somebody_else_with_one_capability_at_most(running: Running) -> None:
    (node,) = running.cluster.nodes()
    processes = family(node.pid)
    assert len(processes) > 3, "PostgreSQL serves by child processes"
    for process in processes:
        assert 0 not in process.uids()
        status = Path(f"/proc/{process.pid}/status").read_text()
        held = int(next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")), 16)
        assert held & ~(1 << 1) == 0, "nothing beyond CAP_DAC_OVERRIDE"
        if os.geteuid() == 0:
            assert psutil.Process(process.pid).username() == "nobody"


_PARENT = """
import sys, time
sys.path.insert(0, {contract!r})
from pathlib import Path
from contract_load import cell_for
from contract_servers import start
from brokerlab.brokers.postgresql.broker import BROKER
from brokerlab.model.plan import Durability
cluster = start(BROKER, cell_for("postgresql", 1, Durability.L4), Path({directory!r}))
print(cluster.nodes()[0].pid, flush=True)
time.sleep(600)
"""


def test_kill_9_of_the_parent_leaves_no_postgres_process(tmp_path: Path) -> None:
    contract = str(Path(__file__).parents[1] / "contract")
    code = _PARENT.format(contract=contract, directory=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdout is not None
            processes = family(int(parent.stdout.readline()))
            assert len(processes) > 3
        finally:
            parent.send_signal(signal.SIGKILL)
            parent.wait()
    until(lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes), "still there")


def test_an_error_at_the_commit_itself_rejects_the_block_and_nothing_is_stored(
    running: Running, session: Connection
) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(10)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    schema = quoted(name)
    session.execute(
        f"""CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$""".encode()
    )
    session.execute(
        f"""CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON {schema}.messages DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION {schema}.refuse()""".encode()
    )
    sender.send(5)
    outcomes = sender.settle()
    assert [outcomes[i] for i in range(10, 15)] == [REJECTED] * 5
    assert sender.errors == {"P0001 not today": 5}
    session.execute(f"DROP TRIGGER refuse ON {schema}.messages".encode())
    sender.send(5)
    assert [sender.settle()[i] for i in range(15, 20)] == [ACKNOWLEDGED] * 5
    consumer = running.consumer("g", name)
    (got,) = receive([consumer], 15)
    assert len(got) == 15
    wait_remaining(consumer, 0)


def test_a_session_that_the_server_ends_makes_open_messages_unknown_and_the_producer_comes_back(
    running: Running, session: Connection
) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(10)
    sender.settle()
    with session.transaction():
        # The block waits for this lock, so that it is surely open when its session ends.
        session.execute(f"LOCK TABLE {quoted(name)}.messages IN ACCESS EXCLUSIVE MODE".encode())
        sender.send(5)
        ended = session.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'producer-1-0'"
        ).fetchone()
        assert ended == (1,)
        outcomes = sender.settle()
    assert [outcomes[i] for i in range(10, 15)] == [UNKNOWN] * 5
    sender.send(10)
    assert [sender.settle()[i] for i in range(15, 25)] == [ACKNOWLEDGED] * 10
    consumer = running.consumer("g", name)
    (got,) = receive([consumer], 20)
    assert all(m.intact for m in got)


def test_a_consumers_connection_heals_and_its_acknowledgements_stand(running: Running, session: Connection) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    consumer = running.consumer("g", name)
    sender.send(50)
    sender.settle()
    receive([consumer], 50)
    wait_remaining(consumer, 0)
    session.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'consumer-1-0'")
    sender.send(50)
    sender.settle()
    (got,) = receive([consumer], 50)
    assert min(m.sequence for m in got) == 25


def test_what_a_killed_consumer_held_comes_again_after_its_lease_and_says_so(running: Running) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(20)
    sender.settle()
    plan = agent_plan(running.cell, running.endpoint, (name,), running.group("g"))
    killed = BROKER.consumer(plan.model_copy(update={"client_settings": {"visibility_timeout": "1s"}}), 0)
    receive([killed], 20, acknowledge=False)
    killed._link.close()  # type: ignore[attr-defined]  # as a kill would: nothing is given back
    (again,) = receive([running.consumer("g", name)], 20)
    assert all(m.redelivered for m in again)
    assert len(again) == 20


def test_what_is_published_before_there_is_a_group_waits_for_the_first_one(running: Running) -> None:
    name = running.destination()
    sender = running.sender(name)
    sender.send(30)
    sender.settle()
    first, second = running.consumer("first", name), running.consumer("second", name)
    (got,) = receive([first], 30)
    assert len(got) == 30
    assert second.remaining() == 0


def test_a_table_that_is_not_logged_is_not_durable(running: Running, session: Connection) -> None:
    name = running.destination()
    assert running.admin.durability((name,)).level == Durability.L3
    session.execute(f"ALTER TABLE {quoted(name)}.messages SET UNLOGGED".encode())
    computed = running.admin.durability((name,))
    assert computed.level == Durability.L4
    assert "not all permanent" in computed.because["tables"]


def test_installation_tells_without_installing(running: Running) -> None:
    assert isinstance(running.cluster, PostgresqlCluster)
    assert BROKER.install(silent) == BROKER.installation()
