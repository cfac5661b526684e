"""`brokerlab monitor` beside a real Kafka under a known load: its counts are those of the load, and nothing is changed."""

from __future__ import annotations

import signal
import socket
import time
import urllib.request
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_load import cell, started
from monitored import WITHIN_S, monitoring, series, until
from prometheus_client.parser import text_string_to_metric_families

from brokerlab.model.plan import Durability
from brokerlab.results.watched import SeriesRow

BEFORE, PRODUCED, CONSUMED = 40, 3_000, 1_200
GROUP = "billing/eu"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def samples(port: int) -> dict[tuple[str, ...], float]:
    """(name, destination, group) -> value, partitions added up; none while the page is not there."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
            families = text_string_to_metric_families(page.read().decode())
    except OSError:
        return {}
    found: dict[tuple[str, ...], float] = {}
    for sample in (s for family in families for s in family.samples):
        labels = sample.labels
        key = sample.name, labels.get("messaging_destination_name", ""), labels.get("messaging_consumer_group_name", "")
        found[key] = found.get(key, 0.0) + sample.value
    return found


def produce(address: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": address})
    for number in range(count):
        producer.produce("orders", b"x" * 100, partition=number % 2)
    assert producer.flush(WITHIN_S) == 0


def consume(address: str, count: int) -> None:
    """So many messages, half of them from each partition, committed."""
    settings = {"bootstrap.servers": address, "group.id": GROUP, "enable.auto.commit": False}
    consumer = Consumer(settings)
    deadline = time.monotonic() + WITHIN_S
    for partition in (0, 1):
        consumer.assign([TopicPartition("orders", partition, 0)])
        taken = 0
        while taken < count // 2:
            assert time.monotonic() < deadline
            taken += len(consumer.consume(min(100, count // 2 - taken), 1.0))
        consumer.commit(offsets=[TopicPartition("orders", partition, taken)], asynchronous=False)
    consumer.close()


def what_there_is(admin: AdminClient) -> tuple[list[str], list[str]]:
    topics = sorted(admin.list_topics(timeout=60).topics)
    groups = sorted(g.group_id for g in admin.list_consumer_groups(request_timeout=60).result().valid)
    return topics, groups


@pytest.mark.timeout(600)
def test_counts_agree_with_the_load_and_kafka_is_left_as_it_was(tmp_path: Path) -> None:
    port = free_port()
    with started(cell(1, Durability.L4), tmp_path / "kafka") as cluster:
        (address,) = cluster.endpoint().addresses
        admin = AdminClient({"bootstrap.servers": address})
        admin.create_topics([NewTopic("orders", 2, 1)])["orders"].result()
        produce(address, BEFORE)
        target = f"kafka={address}"
        with monitoring(tmp_path, "host", target, "--export", f"prometheus=127.0.0.1:{port}") as (process, log):
            counted = ("brokerlab_destination_messages_in_total", "orders", "")
            until("the first readings", lambda: samples(port).get(counted) == BEFORE)
            produce(address, PRODUCED)
            consume(address, CONSUMED)
            there = what_there_is(admin)
            until("the load on the page", lambda: samples(port).get(counted) == BEFORE + PRODUCED)
            lag = ("brokerlab_consumer_lag_messages", "orders", GROUP)
            until("the lag on the page", lambda: samples(port).get(lag) == BEFORE + PRODUCED - CONSUMED)
            assert what_there_is(admin) == there
            cluster.stop()
            until("the word that Kafka is gone", lambda: "is gone" in log.read_text())
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=WITHIN_S)
            assert process.returncode == 0, log.read_text()
    rows = series(tmp_path)
    of_topic: SeriesRow = rows["destination:kafka/orders", "messages_in_total"]
    assert of_topic.increase == PRODUCED
    lags = [r.last for (subject, metric), r in rows.items() if metric == "lag_messages" and "billing%2Feu" in subject]
    assert (len(lags), sum(lags)) == (2, BEFORE + PRODUCED - CONSUMED)
    assert rows["process:kafka-1", "rss_bytes"].most > 0
    assert "went away" in said
