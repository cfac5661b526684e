"""The table of metrics: one row for a thing, one name and unit for it outside."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from brokerlab.brokers.registry import BROKERS, metrics_of
from brokerlab.model.subjects import destination_subject, group_subject, labels_of, parts_of
from brokerlab.model.watched import Asked, Bean, WatchedMetric, beans_of, by_metric
from brokerlab.model.watched_here import HOST, JVM, LOAD
from brokerlab.monitor.table import bean_rows, collectd_plugins, graphite_path, row_of, rows_of, table

NAME = re.compile(r"[a-z][a-z0-9_]*")


def test_names_outside_are_in_seconds_and_bytes_and_say_so() -> None:
    for entry in table():
        name, row = entry.row.prometheus, entry.row
        assert NAME.fullmatch(name), name
        assert row.outside_unit in ("1", "By", "s", "{cpu}", "1/s", "By/s"), row
        assert not re.search(r"_(ms|us|percent|s)(_total)?$", name), name
        assert row.counter == name.endswith("_total"), name
        if row.outside_unit == "By":
            assert "bytes" in name, name
        if row.outside_unit == "s":
            assert re.search(r"seconds(_total)?$", name), name


def test_one_name_outside_has_one_unit_and_series_that_share_it_differ_in_their_attributes() -> None:
    units, series = defaultdict(set), defaultdict(set)
    for entry in table():
        units[entry.row.prometheus].add((entry.row.outside_unit, entry.row.counter))
        series[entry.row.prometheus, entry.row.attributes, entry.row.scope].add(entry.row.metric)
    assert {name: found for name, found in units.items() if len(found) > 1} == {}
    assert {name: found for name, found in series.items() if len(found) > 1} == {}


def test_a_metric_means_one_unit_whichever_broker_tells_it() -> None:
    units = defaultdict(set)
    for entry in table():
        units[entry.row.scope, entry.row.metric].add((entry.row.unit, entry.row.prometheus))
    assert {name: found for name, found in units.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", BROKERS)
def test_every_broker_declares_what_is_watched_of_it(name: str) -> None:
    assert metrics_of(name)


@pytest.mark.parametrize(
    ("row", "prometheus", "value"),
    [
        (HOST["disk_busy_ms_total"], "system_disk_io_time_seconds_total", 0.25),
        (HOST["pressure_cpu_some_avg10_percent"], "brokerlab_host_pressure_cpu_some_avg10_ratio", 2.5),
        (JVM["heap_used_bytes"], "jvm_memory_used_bytes", 250.0),
        (LOAD["publish_latency"], "messaging_client_operation_duration_seconds", 250.0),
        (WatchedMetric("latest_fork_us", "us", Asked(""), ""), "brokerlab_broker_latest_fork_seconds", 250e-6),
        (WatchedMetric("x_per_s", "1/s", Asked(""), ""), "brokerlab_broker_x_per_second", 250.0),
    ],
)
def test_what_it_is_outside(row: WatchedMetric, prometheus: str, value: float) -> None:
    assert (row.prometheus, row.outside(250.0)) == (prometheus, pytest.approx(value))


def test_kafkas_beans_are_read_once_each() -> None:
    rows = [row for row, _ in bean_rows("kafka")]
    beans = beans_of(rows)
    assert beans["kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec"] == ("Count", "OneMinuteRate")
    assert {(bean, a) for bean, attributes in beans.items() for a in attributes} == {
        (row.source.name, row.source.attribute) for row in rows if isinstance(row.source, Bean)
    }


def test_two_rows_for_one_metric_are_refused() -> None:
    with pytest.raises(ValueError, match="load1"):
        by_metric([HOST["load1"], HOST["load1"]])


def test_a_reading_finds_its_row_and_an_undeclared_one_is_made_from_its_unit() -> None:
    assert row_of("jvm:kafka-1", "heap_used_bytes", "B") == JVM["heap_used_bytes"]
    assert (
        row_of("broker:pg-1", "standby_a_flush_lag_s", "s").prometheus == "brokerlab_broker_standby_a_flush_lag_seconds"
    )


def test_names_in_subjects_may_hold_anything() -> None:
    subject = group_subject("kafka", "a/b:c d", "orders.v1", 3)
    assert parts_of(subject) == ("kafka", "a/b:c d", "orders.v1", "3")
    assert labels_of(subject)["messaging_consumer_group_name"] == "a/b:c d"
    assert labels_of(destination_subject("kafka", "x")) == {"broker": "kafka", "messaging_destination_name": "x"}
    assert labels_of("host") == {}


def test_paths_of_graphite_have_as_many_parts_as_names() -> None:
    lag = next(row for row in rows_of("", "group") if row.metric == "lag_messages")
    path = graphite_path(group_subject("kafka", "a/b c", "orders.v1", 3), lag)
    assert path == "brokerlab.group.kafka.a_b_c.orders_v1.3.lag_messages"
    assert graphite_path("host", HOST["load1"]) == "brokerlab.host.load1"


def test_collectd_has_a_plugin_for_what_we_read_of_a_host() -> None:
    assert set(collectd_plugins()) == {"cpu", "load", "memory", "disk", "df", "interface"}
