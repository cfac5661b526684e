"""A workload of more than a minute on a real Kafka, watched by both stacks and by brokerlab itself: do they agree, and does
every panel for Grafana show something?"""

from __future__ import annotations

import csv
import io
import re
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, TopicPartition
from stack_load import NODE, Watched, eventually, watched_kafka

from brokerlab.monitor.grafana.dashboards import dashboards
from brokerlab.monitor.stacks import jmxtrans
from brokerlab.monitor.stacks.asking import Point, Series, graphite, prometheus
from brokerlab.monitor.stacks.tables import beans_by_group
from brokerlab.results.directory import RunDirectory

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
BROKERLAB = [sys.executable, "-m", "brokerlab.cli.main"]
RATE_PER_S = 400
WORKLOAD = f"""
name: watched
question: Do all who watch say the same?
broker: kafka
durability: L4
destinations: {{count: 1, partitions: 2}}
producers: {{count: 1, rate: {RATE_PER_S}/s, message: 200B}}
consumers: {{groups: 1, per_group: 1}}
phases: {{warm_up: 5s, measure: 75s, drain_limit: 60s}}
repeats: 1
retries: 0
"""
KAFKA = {row.metric: row for row in beans_by_group()["kafka"]}
COUNT = jmxtrans.series(NODE, "kafka", KAFKA["messages_in_total"])
ONE_MINUTE = jmxtrans.series(NODE, "kafka", KAFKA["messages_in_one_minute_rate"])
# The dashboards whose panels must show something here; the run is on a broker it did not start, so it knows no data folder.
SHOWN = re.compile(r"brokerlab-(prometheus|graphite)-(host|jvm|run|kafka)")
EMPTY = {("brokerlab-prometheus-run", "Stored bytes")}


@dataclass
class Story:
    """What happened, and what was asked while it did."""

    watched: Watched
    run: RunDirectory
    began_unix_s: float
    count_before: float  # of messages that Kafka took in, out of Graphite
    committed_before: int  # records that groups had written by then
    empty: list[tuple[str, str, str]] = field(default_factory=list)


@contextmanager
def monitoring(address: str, port: int, runs: Path) -> Iterator[None]:
    """`brokerlab monitor` of the broker: destinations and groups, for the dashboards."""
    command = [
        *BROKERLAB,
        "monitor",
        f"kafka={address}",
        "--export",
        f"prometheus=127.0.0.1:{port}",
        "--runs",
        str(runs),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            eventually(
                "the page of the monitor", lambda: socket.create_connection(("127.0.0.1", port), 1).close() is None
            )
            yield
        finally:
            process.kill()
            process.communicate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def asked(watched: Watched, kind: str, expression: str) -> list[Series]:
    """A panel's query as Grafana would ask it, with the variables at "all"."""
    plain = expression.replace("$__rate_interval", "20s").replace("$node", ".*" if kind == "prometheus" else "*")
    if kind == "prometheus":
        return [one for one in prometheus(watched.prometheus_url, plain) if one.points]
    return [one for one in graphite(watched.graphite_url, plain, begin="-5min") if one.points]


def empty_panels(watched: Watched) -> list[tuple[str, str, str]]:
    """Every query of every dashboard is asked: one that is refused raises."""
    return [
        (dashboard.uid, panel.title, query.expression)
        for dashboard in dashboards()
        for panel in dashboard.panels
        for query in panel.queries
        if not asked(watched, dashboard.kind, query.expression)
    ]


def unexpected(empty: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    return [one for one in empty if SHOWN.fullmatch(one[0]) and one[:2] not in EMPTY]


def committed(address: str) -> int:
    """Records in Kafka's topic of group offsets. The broker counts what groups commit among the messages it takes in."""
    client = Consumer({"bootstrap.servers": address, "group.id": "unused", "broker.address.family": "v4"})
    try:
        topic = client.list_topics(timeout=60).topics.get("__consumer_offsets")
        numbers = topic.partitions if topic is not None else ()
        return sum(
            client.get_watermark_offsets(TopicPartition("__consumer_offsets", n), timeout=60)[1] for n in numbers
        )
    finally:
        client.close()


def newest_count(watched: Watched) -> float | None:
    points = [point for one in graphite(watched.graphite_url, COUNT) for point in one.points]
    return max(points)[1] if points else None


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    directory = tmp_path_factory.mktemp("chain")
    (directory / "w.yaml").write_text(WORKLOAD)
    with watched_kafka(directory) as watched:
        address, port = watched.cluster.endpoint().addresses[0], free_port()
        carbon = watched.status("graphite")["addresses"]["carbon"]
        eventually("a first count", lambda: newest_count(watched) is not None)
        count, began = newest_count(watched) or 0.0, time.time()
        story = Story(watched, RunDirectory(directory), began, count, committed(address))
        with monitoring(address, port, directory / "monitored"):
            watched.scrape_too(f"monitor=127.0.0.1:{port}")
            command = [*BROKERLAB, "run", str(directory / "w.yaml"), "--endpoint", f"kafka={address}", "--no-lake"]
            command += ["--runs", str(directory / "runs"), "--export", f"graphite={carbon},prometheus"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                loaded = 'sum(rate(messaging_client_sent_messages_total{cell="c01"}[20s])) > 0'
                eventually("the load", lambda: prometheus(watched.prometheus_url, loaded), 250)
                until = time.monotonic() + 60
                story.empty = empty_panels(watched)
                while unexpected(story.empty) and time.monotonic() < until and process.poll() is None:
                    time.sleep(2)
                    story.empty = empty_panels(watched)
                said = process.communicate(timeout=600)
        (path,) = (directory / "runs").glob("*/plan.json")
        story.run = RunDirectory(path.parent)
        assert story.run.verdict() is not None, said
        yield story


def table(run: RunDirectory, name: str) -> list[dict[str, object]]:
    return pq.read_table(run.path / "tables" / name).to_pylist()  # type: ignore[no-any-return]


def test_every_panel_shows_something_during_a_run(story: Story) -> None:
    assert unexpected(story.empty) == []


def assert_one_minute_rate(story: Story, published: Iterable[Point]) -> None:
    """It is brought up to date every 5 s, and two clocks need not tick together: what it is 6 s before and after, and 2 %."""
    ours = {
        row["second_unix_s"]: row["one_minute_per_s"]
        for row in table(story.run, "minute_rate")
        if row["series"] == "sent"
    }
    compared = 0
    for second, rate in published:
        near = [float(str(ours[s])) for s in range(int(second) - 6, int(second) + 7) if s in ours]
        if len(near) == 13:
            assert min(near) - 0.02 * RATE_PER_S <= rate <= max(near) + 0.02 * RATE_PER_S, second
            compared += 1
    assert compared >= 50


def test_the_one_minute_rate_in_graphite_is_that_of_our_own_counts(story: Story) -> None:
    (published,) = graphite(story.watched.graphite_url, ONE_MINUTE, begin="-15min")
    assert_one_minute_rate(story, published.points)


def test_the_one_minute_rate_in_prometheus_is_that_of_our_own_counts(story: Story) -> None:
    name = KAFKA["messages_in_one_minute_rate"].prometheus
    (published,) = prometheus(story.watched.prometheus_url, f'{name}{{job="given",node="{NODE}"}}[15m]')
    assert_one_minute_rate(story, published.points)


def test_the_count_of_messages_is_what_was_sent_and_what_groups_committed(story: Story) -> None:
    (delivery,) = table(story.run, "delivery")
    sent = int(str(delivery["sent"]))
    assert sent == RATE_PER_S * 80
    address = story.watched.cluster.endpoint().addresses[0]

    def wanted() -> float:
        """Now: a group may commit once more after its run has ended."""
        return story.count_before + sent + committed(address) - story.committed_before

    in_prometheus = f'{KAFKA["messages_in_total"].prometheus}{{job="given",node="{NODE}"}}'

    def differ(count: float | None) -> str:
        """Empty where they agree; else both figures, for the message of a test that fails."""
        return "" if count == (now := wanted()) else f"{count} instead of {now:,.0f}"

    def newest_in_prometheus() -> float | None:
        found = prometheus(story.watched.prometheus_url, in_prometheus)
        return found[0].points[-1][1] if found else None

    agree("Graphite", lambda: differ(newest_count(story.watched)))
    agree("Prometheus", lambda: differ(newest_in_prometheus()))


def agree(where: str, difference: Callable[[], str], within_s: float = 120.0) -> None:
    deadline = time.monotonic() + within_s
    while found := difference():
        assert time.monotonic() < deadline, f"messages in {where}: {found}"
        time.sleep(0.5)


def points_of_csv(watched: Watched, target: str, begin_unix_s: int, until_unix_s: int) -> list[Point]:
    """Graphite's CSV has times without an offset: they are in the zone that is asked for."""
    query = {
        "target": target,
        "from": begin_unix_s,
        "until": until_unix_s,
        "format": "csv",
        "tz": "UTC",
        "noCache": "true",
    }
    with urllib.request.urlopen(f"{watched.graphite_url}/render?{urllib.parse.urlencode(query)}", timeout=60) as answer:
        rows = list(csv.reader(io.StringIO(answer.read().decode())))
    assert {name for name, _, _ in rows} == {target}
    times = [datetime.strptime(at, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp() for _, at, _ in rows]
    return [(at, float(value)) for at, (_, _, value) in zip(times, rows, strict=True) if value]


@pytest.mark.parametrize("target", [COUNT, ONE_MINUTE], ids=["count", "one-minute rate"])
def test_every_second_of_graphites_csv_is_that_of_its_json(story: Story, target: str) -> None:
    until = int(time.time()) - 15  # newer seconds may come between the two questions
    begin = int(story.began_unix_s)
    (json,) = graphite(story.watched.graphite_url, target, begin=str(begin), until=str(until))
    assert len(json.points) >= 80
    assert points_of_csv(story.watched, target, begin, until) == list(json.points)


def test_a_quarter_of_an_hour_has_all_of_its_points(story: Story) -> None:
    """A point a second, through a load and after it; the newest seconds may still be on their way."""
    seconds, on_its_way = 900, 15
    time.sleep(max(0.0, story.began_unix_s + seconds + on_its_way + 5 - time.time()))
    until = int(time.time()) - on_its_way
    (count,) = graphite(story.watched.graphite_url, COUNT, begin=str(until - seconds), until=str(until))
    assert len(count.points) == seconds
