"""What the programs of the stacks read, made from the table of metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from brokerlab.errors import UserError
from brokerlab.model.watched import Bean
from brokerlab.monitor.stacks import collectd, jmxtrans
from brokerlab.monitor.stacks.graphite_files import GraphiteLayout, carbon_conf, local_settings
from brokerlab.monitor.stacks.jmx_rules import AGENTS_OWN, pattern, rules
from brokerlab.monitor.stacks.prometheus import configuration, given_targets
from brokerlab.monitor.stacks.tables import beans_by_group
from brokerlab.monitor.stacks.targets import Target, check_reachable, parse_targets
from brokerlab.monitor.table import collectd_plugins
from brokerlab.processes.ports import HeldPorts

JVM = Target("node-1", "127.0.0.1", 9999)
ROWS = [(group, row) for group, rows in beans_by_group().items() for row in rows]


def test_jmxtrans_is_asked_once_for_every_bean_of_the_table() -> None:
    (server,) = json.loads(jmxtrans.configuration([JVM], beans_by_group(), 2003))["servers"]
    assert (server["alias"], server["port"], server["runPeriodSeconds"]) == ("node-1", "9999", 1)
    asked = [(q["obj"], q["attr"], q.get("keys")) for q in server["queries"]]
    wanted = [(r.source.name, [r.source.attribute], [r.source.part] if r.source.part else None) for _, r in ROWS]  # type: ignore[union-attr]
    assert asked == wanted
    names = [q["resultAlias"] for q in server["queries"]]
    assert len(set(names)) == len(names)
    assert {q["outputWriters"][0]["port"] for q in server["queries"]} == {2003}


def test_a_series_is_scaled_to_seconds_and_summed_over_the_beans_of_a_pattern() -> None:
    jvm = {row.metric: row for row in beans_by_group()["jvm"]}
    heap = jmxtrans.series("node-1", "jvm", jvm["heap_used_bytes"])
    assert heap == "jmx.node-1.jvm.heap_used_bytes.HeapMemoryUsage_used"
    collected = jmxtrans.series("node-1", "jvm", jvm["gc_time_seconds_total"])
    assert collected == "scale(groupByNode(jmx.node-1.jvm.gc_time_seconds_total.*.CollectionTime,1,'sum'),0.001)"


@pytest.mark.parametrize(
    ("bean", "line", "group"),
    [
        (Bean("a.b:type=T,name=N", "Count"), "a.b<type=T, name=N><>Count", None),
        (Bean("a.b:type=T,name=N", "Count"), "a.b<name=N, type=T><>Count", None),
        (Bean("java.lang:name=*,type=G", "Time"), "java.lang<type=G, name=G1 Young><>Time", "G1 Young"),
        (Bean("java.lang:type=Memory", "HeapMemoryUsage", "used"), "java.lang<type=Memory><HeapMemoryUsage>used", None),
    ],
)
def test_a_rule_of_the_prometheus_agent_fits_its_bean_in_any_order(bean: Bean, line: str, group: str | None) -> None:
    found = re.fullmatch(pattern(bean), line)
    assert found is not None
    assert (found.groups() or (None,))[0] == group


@pytest.mark.parametrize("line", ["a.b<type=T, name=N2><>Count", "a.b<type=T2, name=N><>Count", "a.b<type=T, name=N><>Mean", "aXb<type=T, name=N><>Count"])  # fmt: skip
def test_a_rule_fits_no_other_bean(line: str) -> None:
    assert re.fullmatch(pattern(Bean("a.b:type=T,name=N", "Count")), line) is None


def test_the_prometheus_agent_reads_only_the_beans_of_the_table_under_the_tables_names() -> None:
    made = yaml.safe_load(rules(beans_by_group()))
    assert set(made["includeObjectNames"]) <= {row.source.name for _, row in ROWS}  # type: ignore[union-attr]
    told = [row.prometheus for _, row in ROWS if row.prometheus not in AGENTS_OWN]
    assert [rule["name"] for rule in made["rules"]] == told
    milliseconds = next(rule for rule in made["rules"] if rule["name"].endswith("request_time_mean_seconds"))
    assert milliseconds["valueFactor"] == pytest.approx(1e-3)


def test_collectd_loads_the_plugins_of_the_table_and_writes_to_loopback() -> None:
    text = collectd.collectd_conf(Path("/root-of-it"), Path("/home-of-it"), "host", 2003)
    loaded = re.findall(r"^LoadPlugin (\w+)$", text, re.MULTILINE)
    assert loaded == [*collectd_plugins(), "write_graphite"]
    assert set(re.findall(r"<Plugin (\w+)>", text)) <= set(loaded)
    assert 'Host "127.0.0.1"' in text
    assert "Interval 1\n" in text


def test_carbon_and_graphite_web_keep_to_loopback_and_to_their_folder() -> None:
    at = GraphiteLayout(Path("/private"), 1, 2, 3, 4)
    text = carbon_conf(at)
    assert set(re.findall(r"_INTERFACE = (\S+)", text)) == {"127.0.0.1"}
    assert all(path.startswith("/private") for path in re.findall(r"_DIR = (\S+)", text))
    settings = local_settings(at)
    assert "SECRET_KEY = os.environ" in settings
    compile(settings, "local_settings.py", "exec")


def test_prometheus_keeps_the_labels_of_pages_and_times_out_within_its_interval() -> None:
    made = yaml.safe_load(configuration("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", Path("/given.json")))
    assert made["global"]["scrape_interval"] == made["global"]["scrape_timeout"] == "1s"
    jobs = {job["job_name"]: job for job in made["scrape_configs"]}
    assert jobs["brokerlab"]["honor_labels"]
    assert jobs["given"]["honor_labels"]
    assert given_targets([JVM]) == [{"targets": ["127.0.0.1:9999"], "labels": {"node": "node-1"}}]


def test_targets_have_the_name_they_are_given_or_their_address() -> None:
    named, unnamed = parse_targets("--jmx", ["a=127.0.0.1:1", "127.0.0.1:2"])
    assert (named.name, named.address) == ("a", "127.0.0.1:1")
    assert (unnamed.name, unnamed.port) == ("127_0_0_1_2", 2)


@pytest.mark.parametrize("text", ["127.0.0.1", "a=127.0.0.1", ":1", "a=h:0", "a=h:65536", "a=h:x", "a.b=h:1"])
def test_an_address_that_is_none_is_the_users_mistake(text: str) -> None:
    with pytest.raises(UserError, match="--jmx"):
        parse_targets("--jmx", [text])


def test_two_targets_of_one_name_and_one_where_nothing_listens_are_refused() -> None:
    with pytest.raises(UserError, match="two targets"):
        parse_targets("--jmx", ["a=h:1", "a=h:2"])
    port = HeldPorts(1).numbers[0]
    with pytest.raises(UserError, match="does not answer"):
        check_reachable("--jmx", [Target("a", "127.0.0.1", port)])
