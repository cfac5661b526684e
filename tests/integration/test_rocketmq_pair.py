"""A RocketMQ master with its slave: what is reported as timed out and stored all the same, ports, and a killed master."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from contract_load import cell_for, deadline, receive
from contract_servers import START_S, Running, running_server

from brokerlab.brokers.rocketmq.broker import BROKER
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN
from brokerlab.model.plan import Durability

MASTER, SLAVE = "rocketmq-1", "rocketmq-2"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_server(BROKER, cell_for("rocketmq", 2, Durability.L2), tmp_path_factory.mktemp("rocketmq")) as running:
        yield running


def process_of(running: Running, name: str) -> psutil.Process:
    return psutil.Process({node.name: node.pid for node in running.cluster.nodes()}[name])


def wait_stopped(process: psutil.Process) -> None:
    """Until none of its threads runs: each stops when it is next seen by the kernel, and one of them could still confirm."""
    until = time.monotonic() + 120
    states = Path(f"/proc/{process.pid}/task")
    while any(file.read_text().rpartition(")")[2].split()[0] != "T" for file in states.glob("*/stat")):
        assert time.monotonic() < until
        time.sleep(0.005)


def test_the_level_is_read_back_and_says_what_the_slave_has_not_done(running: Running) -> None:
    computed = running.admin.durability((running.destination(),))
    assert computed.level == Durability.L2
    assert computed.because["brokerRole"] == "SYNC_MASTER"
    assert computed.because["inSyncReplicas"] == "2"
    assert "fsyncs it later" in computed.because["the slave"]


def test_what_the_broker_reports_as_timed_out_is_unknown_because_it_is_stored_and_delivered(running: Running) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(10)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    slave = process_of(running, SLAVE)
    slave.send_signal(signal.SIGSTOP)
    try:
        wait_stopped(slave)
        sender.send(10)
        sender.settle()
    finally:
        slave.send_signal(signal.SIGCONT)
    assert Counter(sender.outcomes.values()) == {ACKNOWLEDGED: 10, UNKNOWN: 10}
    assert sender.errors == {"FLUSH_SLAVE_TIMEOUT": 10}
    (got,) = receive([running.consumer("g", name)], 20)
    assert len({m.identity for m in got}) == 20


def test_nothing_listens_but_on_loopback(running: Running) -> None:
    """The replication port has no setting for that: it listens on all interfaces where nothing is done against it."""
    listening = {
        (node.name, c.laddr.ip)
        for node in running.cluster.nodes()
        for c in psutil.Process(node.pid).net_connections("inet")
        if c.status == psutil.CONN_LISTEN
    }
    assert {name for name, _ in listening} == {node.name for node in running.cluster.nodes()}
    assert {ip.removeprefix("::ffff:") for _, ip in listening} == {"127.0.0.1"}


def test_a_killed_master_has_every_acknowledged_message_when_it_is_started_again(running: Running) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(500)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    sender.producer.close(deadline(5))
    assert running.cluster.leading_node(name) == MASTER  # type: ignore[attr-defined]
    killed, slave = process_of(running, MASTER), process_of(running, SLAVE)
    running.cluster.kill_node(MASTER)  # type: ignore[attr-defined]
    assert running.cluster.dead_nodes() == ()
    begun = time.monotonic_ns()
    running.cluster.start()
    running.cluster.wait_ready(begun + round(START_S * 1e9))
    assert process_of(running, MASTER).pid != killed.pid
    assert process_of(running, SLAVE).pid == slave.pid, "what runs is not started again"
    (got,) = receive([running.consumer("g", name)], 500)
    assert len(got) == 500
    assert all(m.intact for m in got)
