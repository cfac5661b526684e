"""What ships with the product plans; the schema and the template agree with what is checked."""

from __future__ import annotations

import re

import pytest
import yaml

from brokerlab.brokers import registry
from brokerlab.results.tables import FEWEST_FOR_CLAIM
from brokerlab.workload import shipped
from brokerlab.workload.fields import Workload
from brokerlab.workload.load import plan_workload
from brokerlab.workload.schema import json_schema
from brokerlab.workload.template import commented_workload

# An overview of some twenty brokers: enough repeats for claims would double its twelve minutes, and its file says so.
FEWER_REPEATS = {"every-broker": 2}


def test_the_promised_workloads_are_there():
    assert set(shipped.names()) == {
        "backlog-drain",
        "burst",
        "demo",
        "every-broker",
        "fan-out",
        "lose-a-node",
        "max-throughput",
        "steady",
    }


@pytest.mark.parametrize("name", shipped.names())
def test_a_shipped_workload_plans_under_its_name_with_a_question(name, broker_named):
    known = registry.broker_named if name == "every-broker" else broker_named  # `all` asks which run here
    run = plan_workload(name, broker_named=known, known_brokers=tuple(registry.BROKERS))
    assert run.name == name
    assert run.question.endswith("?")
    assert run.objectives


@pytest.mark.parametrize("name", shipped.names())
def test_a_shipped_workload_has_repeats_enough_for_a_claim_unless_it_says_otherwise(name):
    repeats = yaml.safe_load(shipped.text(name))["repeats"]
    if name in FEWER_REPEATS:
        assert repeats == FEWER_REPEATS[name]
        assert f"a claim needs --repeats {FEWEST_FOR_CLAIM}" in shipped.text(name)
    else:
        assert repeats >= FEWEST_FOR_CLAIM


@pytest.mark.parametrize("name", shipped.names())
def test_a_shipped_workload_plans_on_the_real_brokers(name):
    plan = plan_workload(name, broker_named=registry.broker_named, known_brokers=tuple(registry.BROKERS))
    brokers = {cell.broker for cell in plan.cells}
    if name == "every-broker":
        servers = {n for n in registry.BROKERS if registry.broker_named(n).kind == "server"}
        assert brokers | {one.broker for one in plan.left_out} == servers
        assert {"kafka", "nats"} <= brokers
    else:
        assert brokers == {"kafka", "nats"}


def test_the_template_plans_as_it_stands_and_shows_every_field(written, broker_named):
    run = plan_workload(written(commented_workload()), broker_named=broker_named)
    assert len(run.cells) == 2
    for field in Workload.model_fields:
        assert re.search(rf"\b{field}:", commented_workload()), field


def test_the_template_plans_on_the_real_brokers(written):
    assert len(plan_workload(written(commented_workload()), broker_named=registry.broker_named).cells) == 2


def test_the_settings_named_in_the_template_exist(written):
    text = commented_workload()
    for part in ("sweep", "broker_settings", "client_settings"):
        lines = re.findall(rf"^# {part}:.*\n(?:#  .*\n)+", text, re.MULTILINE)
        assert len(lines) == 1
        text = text.replace(lines[0], re.sub(r"^# ", "", lines[0], flags=re.MULTILINE))
    cells = plan_workload(written(text), broker_named=registry.broker_named).cells
    assert len(cells) == 9  # three rates, of which kafka has each with two settings


def test_the_cells_of_the_template_plan(written, broker_named):
    text = commented_workload()
    lines = re.findall(r"^# cells:.*\n(?:#  .*\n)+", text, re.MULTILINE)
    named = text.replace(lines[0], re.sub(r"^# ", "", lines[0], flags=re.MULTILINE))
    labels = [cell.label for cell in plan_workload(written(named), broker_named=broker_named).cells]
    assert labels == ["kafka, easy", "nats, easy", "kafka, full", "nats, full"]


def test_every_alternative_in_the_template_can_be_uncommented(written, broker_named):
    text = commented_workload()
    for line in re.findall(r"^  # (?:arrival|message|keys): .*$", text, re.MULTILINE):
        key = line.split(":")[0].strip("# ")
        kept = [one for one in text.splitlines() if not one.startswith(f"  {key}:")]
        other = "\n".join(kept).replace(line, line.replace("# ", "", 1))
        assert plan_workload(written(other), broker_named=broker_named).cells


def test_the_schema_accepts_units_as_written_and_knows_every_field():
    schema = json_schema()
    assert set(schema["properties"]) == set(Workload.model_fields)
    assert schema["additionalProperties"] is False
    assert all("description" in field for field in schema["properties"].values())
    producers = schema["$defs"]["Producers"]["properties"]
    rate = next(form for form in producers["rate"]["anyOf"] if form["type"] == "string")
    for name in shipped.names():
        written_rate = yaml.safe_load(shipped.text(name))["producers"].get("rate")
        assert written_rate is None or re.search(rate["pattern"], written_rate)
    assert not re.search(rate["pattern"], "fast")
