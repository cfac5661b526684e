"""A Pulsar standalone that syncs its journal: the proof of it, subscriptions, and what Pulsar would do by default."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pulsar
import pytest
from contract_load import cell_for, deadline, receive
from contract_servers import Running, running_server

from brokerlab.brokers.pulsar.broker import BROKER
from brokerlab.brokers.pulsar.client import connect, partition_topic
from brokerlab.brokers.pulsar.lag import PulsarLag
from brokerlab.brokers.pulsar.probe import sync_count
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED
from brokerlab.model.plan import Durability
from brokerlab.model.subjects import parts_of

pytestmark = pytest.mark.timeout(900)
CELL = cell_for("pulsar", 1, Durability.L3)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_server(BROKER, CELL, tmp_path_factory.mktemp("pulsar")) as running:
        yield running


def test_every_acknowledged_write_was_synced_when_the_journal_syncs(running: Running) -> None:
    (bookie,) = running.endpoint.options["bookies"].split(",")
    name = running.destination()
    computed = running.admin.durability((name,))
    assert (computed.level, computed.because["journalSyncData"]) == (Durability.L3, "true")
    sender = running.sender(name)
    before = sync_count(bookie)
    for _ in range(30):  # one after the other, so that no two can share a sync
        sender.send(1)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}
    until = deadline()
    while sync_count(bookie) < before + 30:  # counts are published once a second
        assert time.monotonic_ns() < until, f"{sync_count(bookie) - before} syncs for 30 writes"
        time.sleep(0.2)


def test_lag_is_what_was_sent_less_what_was_acknowledged_where_a_message_is_an_entry(running: Running) -> None:
    alone = running.cell.model_copy(update={"client_settings": {"batching_enabled": "false"}})
    unbatched = replace(running, cell=alone)
    name = unbatched.destination("g", "other")
    sender = unbatched.sender(name)
    sender.send(100)
    sender.settle()
    consumer = unbatched.consumer("g", name)
    (got,) = receive([consumer], 30, most=30)
    left = 100 - len({m.identity for m in got})
    assert 0 < left < 100
    consumer.close(deadline(10))  # sends acknowledgements that it has collected
    probe, until = PulsarLag(running.endpoint, running.cluster.nodes(), "mq"), deadline()
    wanted = {running.group("g"): left, running.group("other"): 100}
    told: dict[str, float] = {}
    while told != wanted:
        assert time.monotonic_ns() < until, told
        readings = [r for r in probe.read() if r.metric == "lag_entries" and name in parts_of(r.subject)[2]]
        told = {} if readings else told  # it is asked every few seconds only
        for reading in readings:
            _, group, destination, partition = parts_of(reading.subject)
            assert destination.endswith(f"/{name}")
            assert partition in ("0", "1")
            told[group] = told.get(group, 0) + reading.value
        time.sleep(0.1)
    assert probe.missing() == {}


def test_messages_published_before_any_consumer_connects_are_all_there(running: Running) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(300)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    (own,) = (v for k, v in running.admin.effective_settings((name,)).items() if name in k)
    assert own["retentionTimeInMinutes"] == "-1"
    (got,) = receive([running.consumer("g", name)], 300)
    assert len(got) == 300
    assert all(m.intact for m in got)


def test_more_consumers_than_partitions_share_the_messages(running: Running) -> None:
    name = running.destination("g")
    consumers = [running.consumer("g", name, number=n, members=3) for n in range(3)]
    sender = running.sender(name)
    for _ in range(60):  # small batches: a batch goes to one consumer as a whole
        sender.send(10)
        sender.settle()
    got = receive(consumers, 600)
    assert len({m.identity for some in got for m in some}) == 600
    assert all(got), [len(some) for some in got]


def test_one_message_acknowledged_within_a_batch_does_not_come_again(running: Running) -> None:
    name = running.destination("g")
    first = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(20)
    sender.settle()
    (taken,) = receive([first], 7, most=7)
    assert len(taken) < 20
    time.sleep(0.5)  # the client collects acknowledgements for a tenth of a second
    first.close(deadline(10))
    (again,) = receive([running.consumer("g", name)], 20 - len(taken))
    assert {m.identity for m in again}.isdisjoint(m.identity for m in taken)
    assert len(again) == 20 - len(taken)


def test_a_message_too_large_is_rejected_and_its_neighbours_are_not(running: Running) -> None:
    sender = running.sender(running.destination())
    sender.send(1)
    sender.send_block(sender.block(1, message_bytes=6 * 1024 * 1024))
    sender.send(1)
    assert sender.settle() == {0: ACKNOWLEDGED, 1: REJECTED, 2: ACKNOWLEDGED}
    assert sender.errors == {"MessageTooBig": 1}


def test_a_messages_key_is_on_the_wire(running: Running) -> None:
    name = running.destination()
    sender = running.sender(name)
    sender.send_block(replace(sender.block(4), keys=np.array([7, 8, 9, 10], np.int32)))
    sender.settle()
    client = connect(running.endpoint)
    try:
        topics = [partition_topic(name, p, running.cell.durability) for p in range(running.cell.partitions)]
        reader = client.subscribe(topics, "reads-keys", initial_position=pulsar.InitialPosition.Earliest)
        assert sorted(int(reader.receive(60_000).partition_key()) for _ in range(4)) == [7, 8, 9, 10]
    finally:
        client.close()


def test_it_listens_on_loopback_only(running: Running) -> None:
    (node,) = running.cluster.nodes()
    listening = {c.laddr.ip for c in psutil.Process(node.pid).net_connections("tcp") if c.status == psutil.CONN_LISTEN}
    assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}


def test_the_probe_reads_broker_bookie_and_jvm(running: Running) -> None:
    probe = BROKER.probe(running.cluster.endpoint(), running.cluster.nodes())
    assert probe is not None
    metrics = {(r.subject, r.metric) for r in probe.read()}
    wanted = {"heap_used_bytes", "gc_count_total", "cpu_seconds_total", "threads"}
    assert metrics >= {("jvm:pulsar-1", name) for name in wanted}
    wanted = {"journal_syncs_total", "adds_total", "messages_in_rate", "backlog_entries", "topics"}
    assert metrics >= {("broker:pulsar-1", name) for name in wanted}


def test_no_server_outlives_a_runner_that_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "runner.py"
    script.write_text(
        "import sys, time\n"
        "from pathlib import Path\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[1] / 'contract')!r})\n"
        "from contract_load import cell_for\n"
        "from brokerlab.brokers.pulsar.broker import BROKER\n"
        "from brokerlab.model.plan import Durability\n"
        "here = Path(sys.argv[1])\n"
        "cluster = BROKER.cluster(cell_for('pulsar', 3, Durability.L2), here / 'data', here / 'logs')\n"
        "cluster.start()\n"
        "print(*(n.pid for n in cluster.nodes()), flush=True)\n"
        "time.sleep(600)\n"
    )
    runner = subprocess.Popen([sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert runner.stdout is not None
        with runner.stdout as out:
            servers = [psutil.Process(int(pid)) for pid in out.readline().split()]
        assert len(servers) == 6
    finally:
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()
    _, alive = psutil.wait_procs(servers, timeout=120)
    assert alive == []
