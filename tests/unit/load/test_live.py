"""The progress line says what was seen, and nothing that was not looked at."""

from __future__ import annotations

import json
from pathlib import Path

from brokerlab.load.live import LiveLines, live_text
from brokerlab.load.plans import agent_plans
from brokerlab.model.plan import Endpoint
from synthetic import make_plan

PRODUCER = {"sent": 1000, "p99_ns": {"publish_latency": 3_000_000}}
CONSUMER = {"received": 900, "p99_ns": {"end_to_end_latency": 12_000_000}}


def test_rates_add_up_and_the_worst_p99_of_the_whole_way_is_told():
    slow = {"received": 100, "p99_ns": {"end_to_end_latency": 20_000_000}}
    lines = {"producer-1": PRODUCER, "producer-2": PRODUCER, "consumer-g1-1": CONSUMER, "consumer-g1-2": slow}
    assert live_text(lines) == "2,000/s sent, 1,000/s received, p99 20.0 ms"


def test_without_consumers_the_p99_is_that_of_publishing():
    assert live_text({"producer-1": PRODUCER}) == "1,000/s sent, p99 3.0 ms"


def test_a_latency_that_is_not_known_yet_is_not_told():
    lines = {"producer-1": {"sent": 5, "p99_ns": {}}, "consumer-g1-1": {"received": 0, "p99_ns": {}}}
    assert live_text(lines) == "5/s sent, 0/s received"


def test_each_line_is_kept_with_its_agent_for_those_who_watch(tmp_path: Path):
    plan = make_plan("20270115T0800-live-ab12", cells=1, repeats=1)
    endpoint = Endpoint(addresses=("127.0.0.1:1",))
    producers, consumers = agent_plans(plan, plan.cells[0], plan.order[0], 1, endpoint, tmp_path)
    lines = LiveLines(tmp_path / "live.jsonl")
    lines.add(producers[0], {"second": 7, **PRODUCER})
    lines.add(consumers[0], {"second": 7, **CONSUMER})
    first, second = map(json.loads, (tmp_path / "live.jsonl").read_text().splitlines())
    assert (first["agent"], first["role"], first["group"], first["sent"]) == ("producer-1", "producer", "", 1000)
    assert (second["role"], second["group"], second["second"]) == ("consumer", consumers[0].group, 7)
    LiveLines(tmp_path / "gone" / "live.jsonl").add(producers[0], PRODUCER)  # nothing is kept, and nothing is raised
