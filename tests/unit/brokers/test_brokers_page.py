"""docs/brokers.md is what the brokers declare and the record says."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from brokerlab.brokers.catalogue import catalogue, read_record, source_of, with_table
from brokerlab.brokers.registry import BROKERS, broker_named

DOCS = Path(__file__).parents[3] / "docs"
RECORD = DOCS / "data" / "kill-node.json"
RUN = {
    "broker": "kafka", "version": "4.3.1", "nodes": 3, "durability": "L1", "date": "2026-11-16", "machine": "2 x CPU",
    "verdict": "valid", "failure": None, "node": "kafka-1", "took_over": "kafka-3", "took_over_after_s": 3.5,
    "publish_outage": "4.20 s", "delivery_outage": "more than 9.00 s", "rejected": 7, "unknown": 12, "lost": 0, "duplicated": 3,
    "drained": True, "acknowledged": 24_000,
}  # fmt: skip


def test_the_page_is_what_the_generator_gives() -> None:
    assert (DOCS / "brokers.md").read_text() == catalogue(read_record(RECORD)), "make docs writes it again"


def test_the_table_in_the_readme_is_what_the_generator_gives() -> None:
    readme = (DOCS.parent / "README.md").read_text()
    assert readme == with_table(readme), "make docs writes it anew"
    assert all(f"\n| {name} | " in readme for name in BROKERS)
    assert all(broker_named(name).runs for name in BROKERS), "a row says nothing about what runs"


@pytest.mark.parametrize("name", BROKERS)
def test_every_broker_is_there_with_its_promise_and_its_source(name: str) -> None:
    page = catalogue([])
    broker = broker_named(name)
    overview, promises = page.split("## What each can do")[0], page.split("## What an acknowledgement promises")[1]
    assert f"| `{name}` | {broker.product} | {broker.version} |" in overview
    assert broker.capabilities.acknowledgement.rstrip(".") in promises
    source = source_of(name)
    assert source, "the README has no row `Comes from` and no paragraph `Where it comes from.`"
    assert source in promises


def test_every_option_of_an_endpoint_is_there_with_what_it_is_and_the_page_of_commands_links_to_them() -> None:
    options = {f"{n}.{o}": text for n in BROKERS for o, text in broker_named(n).capabilities.endpoint_options.items()}
    lines = catalogue([]).split("## Options of an endpoint")[1].split("\n## ")[0].splitlines()
    assert [line for line in lines if line.startswith("| `")] == [f"| `{o}` | {text} |" for o, text in options.items()]
    assert {"redpanda.admin", "mongodb.replica_set", "rabbitmq-stream.stream"} <= set(options)
    assert "(brokers.md#options-of-an-endpoint)" in (DOCS / "running.md").read_text()


def test_a_recorded_run_has_its_line() -> None:
    page = catalogue([RUN])
    line = next(line for line in page.splitlines() if line.startswith("| `kafka` | 4.3.1 | 3 | L1 |"))
    for said in ("kafka-1", "kafka-3 after 3.50 s", "4.20 s", "more than 9.00 s", "24,000", "valid", "2026-11-16"):
        assert f"| {said} " in line
    assert "Measured on: 2 x CPU." in page


def test_lost_is_not_said_without_a_drain_and_a_failed_run_says_why() -> None:
    assert "| cannot tell |" in catalogue([{**RUN, "drained": False}])
    assert "| invalid: it fell over |" in catalogue([{**RUN, "verdict": "invalid", "failure": "it fell over"}])


def not_recorded(rows: list[dict[str, Any]]) -> set[str]:
    _, _, text = catalogue(rows).rstrip().removesuffix(".").partition("Not recorded yet: ")
    return set(text.split(", ")) if text else set()


def test_clusters_that_can_lose_a_node_and_are_not_recorded_are_named_with_their_nodes() -> None:
    able = [(name, nodes) for name in BROKERS for nodes in broker_named(name).capabilities.can_lose_a_node]
    named = {f"`{name}` with {nodes} nodes" for name, nodes in able}
    assert {"`kafka` with 3 nodes", "`kafka` with 6 nodes", "`artemis` with 6 nodes"} <= named
    assert not_recorded([]) == named
    assert not_recorded([RUN]) == named - {"`kafka` with 3 nodes"}
    assert not_recorded([{**RUN, "broker": name, "nodes": nodes} for name, nodes in able]) == set()


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """tools/record_kill_node.py as a module."""
    spec = importlib.util.spec_from_file_location("record_kill_node", DOCS.parent / "tools" / "record_kill_node.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_a_new_run_replaces_the_one_of_the_same_broker_and_nodes_alone(tool: ModuleType) -> None:
    six, again = {**RUN, "nodes": 6}, {**RUN, "date": "2026-11-18"}
    assert tool.replaced([RUN], six) == [RUN, six]
    assert tool.replaced([RUN, six], again) == [again, six]


def test_runs_are_asked_for_by_broker_or_by_broker_and_nodes(tool: ModuleType) -> None:
    able = broker_named("kafka").capabilities.can_lose_a_node
    assert tool.wanted(["kafka"]) == [("kafka", nodes) for nodes in able]
    assert tool.wanted(["artemis:6", "kafka:3"]) == [("artemis", 6), ("kafka", 3)]
    assert {name for name, _ in tool.wanted([])} == {n for n in BROKERS if broker_named(n).capabilities.can_lose_a_node}
    for wrong in ("memory", "kafka:4", "kafka:"):
        with pytest.raises(SystemExit, match="cannot lose a node"):
            tool.wanted([wrong])


def test_what_is_recorded_is_a_run_of_a_broker_that_can_lose_a_node() -> None:
    for row in read_record(RECORD):
        assert row["nodes"] in broker_named(row["broker"]).capabilities.can_lose_a_node
        assert row["failure"] is not None or row["acknowledged"] > 0
    assert json.loads(RECORD.read_text())["schema_version"] == 1
