"""Kafka for real: its own servers on loopback, the Python path of the driver, the Jolokia agent."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import psutil
import pytest
from kafka_load import PRODUCERS, agent, assert_acknowledged, block, cell, soon, started

from brokerlab.brokers.contract import Cluster
from brokerlab.brokers.kafka.broker import BROKER
from brokerlab.brokers.kafka.metrics import METRICS
from brokerlab.brokers.kafka.settings import SERVER_SETTINGS, TOPIC_SETTINGS
from brokerlab.brokers.kit.jolokia import ORIGIN
from brokerlab.install.cache import silent
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED
from brokerlab.model.plan import Durability, Role
from brokerlab.model.watched import Bean


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    assert BROKER.install(silent).runs_here


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kafka1")


@pytest.fixture(scope="module")
def one_node(directory: Path, installed: None) -> Iterator[Cluster]:  # noqa: ARG001
    with started(cell(1, Durability.L3), directory) as cluster:
        yield cluster


def test_everything_published_is_acknowledged_and_consumed_once(one_node: Cluster) -> None:
    topics = ("all-1", "all-2")
    admin = BROKER.admin(one_node.endpoint(), cell(1, Durability.L4))
    admin.create(topics, 2, ())
    consumers = [BROKER.consumer(agent(Role.CONSUMER, one_node.endpoint(), topics, per_group=2), n) for n in (0, 1)]
    producer = BROKER.producer(agent(Role.PRODUCER, one_node.endpoint(), topics), 0)
    sent, outcomes = 0, {}
    deadline = soon()
    while len(outcomes) < 1000 and time.monotonic_ns() < deadline:
        if sent < 1000:
            sent += producer.send(block(sent, min(300, 1000 - sent)))
        assert sent - len(outcomes) <= PRODUCERS.window_limit
        settled = producer.settled()
        assert not outcomes.keys() & set(settled.indices.tolist())
        outcomes |= dict(zip(settled.indices.tolist(), settled.outcomes.tolist(), strict=True))
    producer.close(deadline)
    assert outcomes == dict.fromkeys(range(1000), ACKNOWLEDGED)

    received: list[int] = []
    for number, consumer in enumerate(consumers):
        mine: list[int] = []
        while consumer.remaining() != 0 and time.monotonic_ns() < deadline:
            deliveries = consumer.receive(100, time.monotonic_ns() + 10**9)
            assert len(deliveries) <= 100
            if len(deliveries):
                assert deliveries.buffer is not None
                rows = deliveries.buffer[: 100 * len(deliveries)].reshape(-1, 100)
                mine += rows[:, :8].copy().view("<i8")[:, 0].tolist()
                assert (deliveries.positions >= 0).all()
                consumer.acknowledge(deliveries)
        assert {m % 2 for m in mine} == {number}  # its share: cell-wide partitions modulo the group's size
        received += mine
        consumer.close(deadline)
    assert sorted(received) == list(range(1000))
    admin.delete((*topics, "never-made"), ("group-all-1", "never-made"))
    with pytest.raises(Exception, match="all-1"):
        admin.effective_settings(topics)


def test_a_message_larger_than_the_client_allows_is_rejected_and_its_neighbours_are_not(one_node: Cluster) -> None:
    admin = BROKER.admin(one_node.endpoint(), cell(1, Durability.L4))
    admin.create(("large",), 2, ())
    producer = BROKER.producer(agent(Role.PRODUCER, one_node.endpoint(), ("large",)), 0)
    assert producer.send(block(0, 1, partitions=2)) == 1
    assert producer.send(block(1, 1, message_bytes=2_000_000, partitions=2)) == 1
    assert producer.send(block(2, 1, partitions=2)) == 1
    outcomes: dict[int, int] = {}
    errors: dict[str, int] = {}
    deadline = soon()
    while len(outcomes) < 3 and time.monotonic_ns() < deadline:
        settled = producer.settled()
        outcomes |= dict(zip(settled.indices.tolist(), settled.outcomes.tolist(), strict=True))
        errors |= settled.errors
    producer.close(deadline)
    assert outcomes == {0: ACKNOWLEDGED, 1: REJECTED, 2: ACKNOWLEDGED}
    assert errors == {"MSG_SIZE_TOO_LARGE": 1}


@pytest.mark.parametrize("level", [Durability.L3, Durability.L4])
def test_one_node_gives_the_level_asked_for(one_node: Cluster, level: Durability) -> None:
    admin = BROKER.admin(one_node.endpoint(), cell(1, level))
    destination = f"level-{level}"
    admin.create((destination,), 1, ())
    assert admin.durability((destination,)).level == level
    assert_acknowledged(one_node, destination, level, partitions=1)


def test_kafka_knows_every_setting_we_let_users_set(one_node: Cluster) -> None:
    admin = BROKER.admin(one_node.endpoint(), cell(1, Durability.L4))
    admin.create(("names",), 1, ())
    settings = admin.effective_settings(("names",))
    # describe_configs leaves out what has no value; synonyms that are null by default are such.
    null_by_default = {"log.flush.interval.ms", "log.retention.ms", "log.roll.ms"}
    assert settings["topic:names"].keys() >= TOPIC_SETTINGS
    assert settings["broker:1"].keys() | null_by_default >= SERVER_SETTINGS


def test_a_node_starts_from_the_archive_of_its_classes(one_node: Cluster) -> None:
    (node,) = one_node.nodes()
    assert "-classes-" in Path(f"/proc/{node.pid}/maps").read_text(), "Java did not take it"


def test_the_probe_reads_every_figure(one_node: Cluster) -> None:
    probe = BROKER.probe(one_node.endpoint(), one_node.nodes())
    assert probe is not None
    admin = BROKER.admin(one_node.endpoint(), cell(1, Durability.L4))
    admin.create(("probed",), 2, ())
    producer = BROKER.producer(agent(Role.PRODUCER, one_node.endpoint(), ("probed",)), 0)
    before = {r.metric: r.value for r in probe.read()}
    producer.send(block(0, 50, partitions=2))
    producer.close(soon())
    deadline = soon()
    after: dict[str, float] = {}
    while time.monotonic_ns() < deadline and after.get("messages_in_total", 0) < before["messages_in_total"] + 50:
        after = {r.metric: r.value for r in probe.read()}
    assert after["messages_in_total"] == before["messages_in_total"] + 50
    assert after.keys() == {row.metric for row in METRICS if isinstance(row.source, Bean)}
    assert {r.subject for r in probe.read()} == {"jvm:kafka-1", "broker:kafka-1"}


def test_jvms_answer_remote_jmx_only_where_it_was_asked_for(one_node: Cluster, tmp_path: Path) -> None:
    assert "jmx" not in one_node.nodes()[0].urls
    wanted = cell(1, Durability.L4).model_copy(update={"broker_settings": {"jmx.remote": "true"}})
    with started(wanted, tmp_path) as cluster:
        host, _, port = cluster.nodes()[0].urls["jmx"].partition(":")
        assert host == "127.0.0.1"
        with socket.create_connection((host, int(port)), timeout=60) as registry:
            registry.settimeout(60)
            registry.sendall(b"JRMI\0\x02\x4b")  # the beginning of Java's remote protocol
            assert registry.recv(1) == b"\x4e"  # "protocol acknowledged"


@pytest.mark.parametrize(
    "request_body",
    [
        {"type": "exec", "mbean": "java.lang:type=Memory", "operation": "gc"},
        {"type": "write", "mbean": "java.lang:type=Memory", "attribute": "Verbose", "value": True},
        {"type": "read", "mbean": "java.lang:type=Runtime", "attribute": "SystemProperties"},
        {"type": "read", "mbean": "java.lang:type=Memory", "attribute": "NonHeapMemoryUsage"},
        {"type": "list"},
    ],
)
def test_the_agent_in_the_jvm_refuses_all_but_the_listed_reads(one_node: Cluster, request_body: dict[str, Any]) -> None:
    answer = ask_jolokia(one_node, request_body)
    assert answer["status"] == 403, answer
    allowed = {"type": "read", "mbean": "java.lang:type=Memory", "attribute": "HeapMemoryUsage"}
    assert ask_jolokia(one_node, allowed)["status"] == 200


def ask_jolokia(cluster: Cluster, body: dict[str, Any]) -> dict[str, Any]:
    url = cluster.nodes()[0].urls["jolokia"]
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", "Origin": ORIGIN})
    with build_opener(ProxyHandler({})).open(request, timeout=60) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def test_no_server_outlives_a_runner_that_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "runner.py"
    script.write_text(
        "import sys, time\n"
        "from pathlib import Path\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from kafka_load import BROKER, Durability, cell\n"
        "here = Path(sys.argv[1])\n"
        "cluster = BROKER.cluster(cell(3, Durability.L2), here / 'data', here / 'logs')\n"
        "cluster.start()\n"
        "print(*(n.pid for n in cluster.nodes()), flush=True)\n"
        "time.sleep(600)\n"
    )
    runner = subprocess.Popen([sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert runner.stdout is not None
        with runner.stdout as out:
            servers = [psutil.Process(int(pid)) for pid in out.readline().split()]
        assert len(servers) == 3
        assert all("kafka.Kafka" in server.cmdline() for server in servers)
    finally:
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()
    _, alive = psutil.wait_procs(servers, timeout=120)
    assert alive == []


# Last in this file: it stops the server that all share.
def test_stop_ends_the_process_and_clean_deletes_the_data_but_not_the_log(one_node: Cluster, directory: Path) -> None:
    (node,) = one_node.nodes()
    process = psutil.Process(node.pid)
    assert one_node.dead_nodes() == ()
    addresses = {c.laddr.ip for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
    assert {a.removeprefix("::ffff:") for a in addresses} == {"127.0.0.1"}
    one_node.stop()
    assert not process.is_running()
    assert one_node.dead_nodes() == ()
    assert (directory / "data").exists()
    one_node.stop()
    one_node.clean()
    one_node.clean()
    assert not (directory / "data").exists()
    assert "Kafka Server started" in (directory / "logs" / "kafka-1.log").read_text()
