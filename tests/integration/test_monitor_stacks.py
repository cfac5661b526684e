"""The Graphite and the Prometheus stack for real, watching a real Kafka under a known load."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import psutil
import pytest
from stack_load import NODE, Watched, eventually, watched_kafka

from brokerlab.monitor.stacks import jmxtrans
from brokerlab.monitor.stacks.asking import graphite, prometheus
from brokerlab.monitor.stacks.graphite_files import NO_CAIRO, WEB_ENVIRONMENT, settings_for_migration
from brokerlab.monitor.stacks.programs import graphite_programs
from brokerlab.monitor.stacks.tables import beans_by_group

MESSAGES_IN = next(row for row in beans_by_group()["kafka"] if row.metric == "messages_in_total")
IN_GRAPHITE = jmxtrans.series(NODE, "kafka", MESSAGES_IN)
CHILDREN = [
    ("graphite", "carbon"),
    ("graphite", "graphite-web"),
    ("graphite", "collectd"),
    ("graphite", "jmxtrans"),
    ("prometheus", "node-exporter"),
    ("prometheus", "prometheus"),
]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched_kafka(tmp_path_factory.mktemp("watched")) as made:
        yield made


def last_in_graphite(watched: Watched, expression: str) -> float | None:
    found = [one.points[-1][1] for one in graphite(watched.graphite_url, expression) if one.points]
    return found[0] if found else None


def last_in_prometheus(watched: Watched, expression: str) -> float | None:
    found = [one.points[-1][1] for one in prometheus(watched.prometheus_url, expression)]
    return found[0] if found else None


def newest_s(watched: Watched, stack: str, child: str) -> float:
    """When the newest point was made that went through this child."""
    if stack == "prometheus":
        metric = "timestamp(node_load1)" if child == "node-exporter" else f'timestamp(up{{node="{NODE}"}} == 1)'
        return last_in_prometheus(watched, metric) or 0.0
    expression = "collectd.host.load.load.shortterm" if child == "collectd" else IN_GRAPHITE
    return max((p[0] for one in graphite(watched.graphite_url, expression) for p in one.points), default=0.0)


def test_what_was_sent_comes_out_of_both_stacks_to_the_message(watched: Watched) -> None:
    in_prometheus = f'{MESSAGES_IN.prometheus}{{node="{NODE}"}}'
    eventually("a first count", lambda: last_in_graphite(watched, IN_GRAPHITE) is not None)
    eventually("a first count", lambda: last_in_prometheus(watched, in_prometheus) is not None)
    before = last_in_graphite(watched, IN_GRAPHITE)
    assert before is not None
    assert last_in_prometheus(watched, in_prometheus) == before
    watched.send("counted", 5000)
    eventually("5,000 more in Graphite", lambda: last_in_graphite(watched, IN_GRAPHITE) == before + 5000)
    eventually("5,000 more in Prometheus", lambda: last_in_prometheus(watched, in_prometheus) == before + 5000)
    # Without `interpolate` what was counted over a second without a point would be missing.
    (rates,) = graphite(watched.graphite_url, f"perSecond(interpolate({IN_GRAPHITE}))", begin="-5min")
    assert sum(rate for _, rate in rates.points) == pytest.approx(5000, abs=before)


def test_graphites_csv_says_the_same_as_its_json(watched: Watched) -> None:
    query = {"target": IN_GRAPHITE, "from": "-1min", "format": "csv", "tz": "UTC"}
    with urllib.request.urlopen(f"{watched.graphite_url}/render?{urlencode(query)}", timeout=60) as answer:
        rows = list(csv.reader(io.StringIO(answer.read().decode())))
    values = [float(value) for _, _, value in rows if value]
    assert {name for name, _, _ in rows} == {IN_GRAPHITE}
    assert values[-1] <= (last_in_graphite(watched, IN_GRAPHITE) or 0)
    assert values


def test_every_bean_of_the_table_gives_a_series(watched: Watched) -> None:
    for group in ("jvm", "kafka"):
        for row in beans_by_group()[group]:
            expression = jmxtrans.series(NODE, group, row)
            eventually(expression, lambda e=expression: last_in_graphite(watched, e) is not None)
            labels = "".join(f',{name}="{value}"' for name, value in row.labels.items())
            sample = f'{row.prometheus}{{node="{NODE}"{labels}}}'
            eventually(sample, lambda s=sample: last_in_prometheus(watched, s) is not None)


def test_everything_listens_on_loopback_only(watched: Watched) -> None:
    for stack in ("graphite", "prometheus"):
        for child in watched.status(stack)["children"]:
            listening = [c.laddr for c in psutil.Process(child["pid"]).net_connections() if c.status == "LISTEN"]
            assert {at.ip for at in listening} <= {"127.0.0.1", "::ffff:127.0.0.1"}, child["name"]


@pytest.mark.parametrize(("stack", "child"), CHILDREN, ids=lambda name: str(name))
def test_a_killed_child_is_noticed_said_and_started_again(watched: Watched, stack: str, child: str) -> None:
    before = next(c for c in watched.status(stack)["children"] if c["name"] == child)
    os.kill(before["pid"], signal.SIGKILL)
    killed_s = time.time()

    def started_again() -> bool:
        now = next(c for c in watched.status(stack)["children"] if c["name"] == child)
        return now["restarts"] == before["restarts"] + 1 and now["pid"] not in (None, before["pid"])

    eventually("it was started again", started_again)
    said = next(c for c in watched.status(stack)["children"] if c["name"] == child)
    assert said["last_end"] == "killed by SIGKILL"
    assert abs(said["last_end_unix_s"] - killed_s) < 60
    eventually("new points come through it", lambda: newest_s(watched, stack, child) > killed_s + 1)
    others = [c for c in watched.status(stack)["children"] if c["name"] != child]
    assert all(c["state"] == "running" for c in others)


ASKED_WITHOUT_CAIRO = """
import django; django.setup()
from django.test import Client
print(Client(HTTP_HOST="127.0.0.1").get("/render?target=constantLine(3)&format=json&from=-1min").content.decode())
"""


def test_graphite_web_answers_json_where_there_is_no_libcairo(tmp_path: Path) -> None:
    programs = graphite_programs(lambda _what, _share: None, with_jmx=False)
    settings_for_migration(tmp_path, tmp_path / "some.db")
    (tmp_path / "cairocffi.py").write_text(NO_CAIRO)
    env = {**os.environ, **WEB_ENVIRONMENT, "PYTHONPATH": str(tmp_path), "SECRET_KEY": "x"}
    command = [str(programs.python), "-c", ASKED_WITHOUT_CAIRO]
    said = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)[0]["datapoints"][0][0] == 3.0


def is_alive(pid: int) -> bool:
    """The supervisor is a child of this test, which reaps it later."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_down_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    from brokerlab.monitor.stacks import control

    up = control.up("prometheus", directory=tmp_path / "stacks")
    pids = [child["pid"] for child in up["children"]] + [up["supervisor_pid"]]
    assert control.up("prometheus", directory=tmp_path / "stacks")["started"] is False
    control.down("prometheus", tmp_path / "stacks")
    eventually("all processes have ended", lambda: not any(map(is_alive, pids)))
    assert [p.name for p in (tmp_path / "stacks").iterdir()] == ["prometheus.lock"]
