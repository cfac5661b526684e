"""The page that Prometheus reads, and lines to a carbon that is there, comes late, or never."""

from __future__ import annotations

import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from urllib.error import HTTPError

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parsed_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parsed
from test_series import news

from brokerlab.evidence.tables import INTERVAL, READING
from brokerlab.model.watched_here import HOST
from brokerlab.monitor import graphite
from brokerlab.monitor.exports import Export
from brokerlab.monitor.graphite import GraphiteSender
from brokerlab.monitor.prometheus import Page, PrometheusServer
from brokerlab.monitor.series import Point, Series

WITHIN_S = 120.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@pytest.fixture
def series() -> Series:
    found = Series()
    heap = {"metric": "heap_used_bytes", "unit": "B", "value": 7.0, "second_unix_s": 1}
    found.take(news(READING, {"subject": "jvm:one", **heap}, {"subject": "jvm:two", **heap}))
    gone = {"subject": "host", "metric": "disk_read_bytes_total", "unit": "B", "value": 9.0, "second_unix_s": 1}
    found.take(news(READING, gone, {**gone, "metric": "disk_write_bytes_total"}))
    latency = {
        "second_unix_s": 1,
        "publish_latency_bucket": [5],
        "publish_latency_count": [4],
        "publish_latency_sum_ns": 20,
    }
    found.take(news(INTERVAL, latency))
    return found


def serve(series: Series, token: str | None = None) -> tuple[PrometheusServer, str]:
    export = Export("prometheus", "127.0.0.1", free_port(), token)
    return PrometheusServer(export, Page(series, {"run_id": "r1"}, {"c01": "memory"})), export.words


@pytest.fixture
def url(series: Series) -> Iterator[str]:
    server, url = serve(series)
    yield url
    server.end()


def get(url: str, **headers: str) -> str:
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize(
    ("accept", "parser"), [("text/plain", parsed), ("application/openmetrics-text; version=1.0.0", parsed_openmetrics)]
)
def test_both_forms_can_be_read_by_prometheus_own_parser(url: str, accept: str, parser: object) -> None:
    families = {f.name: f for f in parser(get(url, Accept=accept))}  # type: ignore[operator]
    heap = families["jvm_memory_used_bytes"].samples
    assert {(s.labels["node"], s.labels["jvm_memory_type"], s.value) for s in heap} == {
        ("one", "heap", 7.0),
        ("two", "heap", 7.0),
    }
    disk = families["system_disk_io_bytes"]
    assert disk.type == "counter"
    assert {s.labels["disk_io_direction"] for s in disk.samples} == {"read", "write"}
    latency = families["messaging_client_operation_duration_seconds"]
    assert latency.type == "histogram"
    by_name = {s.name.rpartition("_")[2]: s.value for s in latency.samples if s.labels.get("le") in (None, "+Inf")}
    assert by_name == {"bucket": 4.0, "count": 4.0, "sum": 20e-9}
    assert latency.samples[0].labels == {"cell": "c01", "messaging_operation_name": "publish", "messaging_system": "memory", "le": "5e-05"}  # fmt: skip


def test_a_page_with_a_token_answers_only_those_who_have_it(series: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_TEST_TOKEN", "open-sesame")
    server, url = serve(series, "env:BROKERLAB_TEST_TOKEN")
    try:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            with pytest.raises(HTTPError) as refused:
                get(url, **headers)
            assert refused.value.code == 401
            refused.value.close()
        assert "jvm_memory_used_bytes" in get(url, Authorization="Bearer open-sesame")
    finally:
        server.end()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:9464", "127.0.0.1.evil.example", "localhost.evil.example:9464", "10.0.0.5:9464", "[::1", ""])  # fmt: skip
def test_a_page_without_a_token_is_refused_under_another_name(url: str, host: str) -> None:
    with pytest.raises(HTTPError) as refused:
        get(url, Host=host)
    assert refused.value.code == 421
    assert b"jvm_memory" not in refused.value.read()
    refused.value.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:9464", "localhost:9464", "LOCALHOST", "[::1]:9464"])
def test_a_page_without_a_token_is_answered_under_loopback_names(url: str, host: str) -> None:
    assert "jvm_memory_used_bytes" in get(url, Host=host)


def test_a_page_with_a_token_is_answered_under_any_name(series: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_TEST_TOKEN", "open-sesame")
    server, url = serve(series, "env:BROKERLAB_TEST_TOKEN")
    try:
        assert "jvm_memory_used_bytes" in get(url, Authorization="Bearer open-sesame", Host="lab.example:9464")
    finally:
        server.end()


def points(count: int) -> list[Point]:
    return [Point("host", HOST["load1"], float(i), i) for i in range(count)]


def received(server: socket.socket, into: bytearray) -> None:
    connection, _ = server.accept()
    with connection:
        while data := connection.recv(65536):
            into += data


def test_a_carbon_gets_every_point_once() -> None:
    taken = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as carbon:
        reader = threading.Thread(target=received, args=(carbon, taken))
        reader.start()
        sender = GraphiteSender(Export("graphite", "127.0.0.1", carbon.getsockname()[1]))
        sender.start()
        sender.put(points(1200))
        sender.end(WITHIN_S)
        reader.join(WITHIN_S)
    assert taken.decode().splitlines() == [f"brokerlab.host.load1 {float(i)} {i}" for i in range(1200)]
    assert (sender.sent, sender.lost) == (1200, 0)


def test_a_carbon_that_is_not_there_loses_points_and_costs_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphite, "MOST_LINES", 100)
    sender = GraphiteSender(Export("graphite", "127.0.0.1", free_port()))
    sender.start()
    begun = time.monotonic()
    sender.put(points(1000))
    assert time.monotonic() - begun < WITHIN_S / 10
    deadline = time.monotonic() + WITHIN_S
    while sender.problem is None and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    sender.end(WITHIN_S)
    assert (sender.sent, sender.lost) == (0, 1000)
    assert "refused" in str(sender.problem)


def test_a_carbon_that_never_reads_loses_points_and_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as carbon:  # accepts by itself, never reads
        sender = GraphiteSender(Export("graphite", "127.0.0.1", carbon.getsockname()[1]))
        sender.start()
        begun = time.monotonic()
        while sender.lost == 0 and time.monotonic() - begun < WITHIN_S:  # until the kernel's buffers are full, too
            sender.put(points(20_000))
        asked = time.monotonic()
        sender.end(0.5)
        assert time.monotonic() - asked < WITHIN_S / 2
        assert sender.lost > 0
