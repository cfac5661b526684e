"""docs/workloads.md says what the program does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from brokerlab.brokers import registry
from brokerlab.workload import shipped
from brokerlab.workload.consumer_fields import ConsumerSet
from brokerlab.workload.fields import (
    Batch,
    Destinations,
    Keys,
    Payload,
    Phases,
    Producers,
    Security,
    SmallestDifference,
    Workload,
)
from brokerlab.workload.load import plan_workload
from brokerlab.workload.objectives import parse_objective

PAGE = (Path(__file__).parents[3] / "docs" / "workloads.md").read_text()
ROWS = set(re.findall(r"`([a-z_.<>]+)`", "\n".join(re.findall(r"^\|([^|]*)\|", PAGE, re.MULTILINE))))
PARTS = {
    "": Workload,
    "destinations.": Destinations,
    "producers.": Producers,
    "producers.payload.": Payload,
    "producers.keys.": Keys,
    "producers.batch.": Batch,
    "consumers.": ConsumerSet,
    "phases.": Phases,
    "security.": Security,
    "smallest_difference.": SmallestDifference,
}


@pytest.mark.parametrize("prefix", PARTS)
def test_every_field_has_its_row(prefix):
    for field in PARTS[prefix].model_fields:
        path = prefix + field
        assert path in ROWS or any(row.startswith((f"{path}.", f"{path}.<")) for row in ROWS), path


def test_every_shipped_workload_has_its_row():
    assert set(shipped.names()) <= set(re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE))


def test_the_sets_of_consumers_shown_plan_on_the_real_broker():
    shown = yaml.safe_load(re.findall(r"```yaml\n(consumers:\n.*?)```", PAGE, re.DOTALL)[0])
    run = plan_workload("demo", overrides=[f"consumers={json.dumps(shown['consumers'])}"], brokers=["kafka"],
                        broker_named=registry.broker_named)  # fmt: skip
    (cell,) = run.cells
    assert [of.name for of in cell.consumer_sets] == [of["name"] for of in shown["consumers"]]


def test_the_objectives_shown_are_read():
    shown = yaml.safe_load(re.findall(r"```yaml\n(objectives:.*?)```", PAGE, re.DOTALL)[0])["objectives"]
    assert len([parse_objective(text) for text in shown]) == 5


def test_the_sweep_shown_plans_on_the_real_brokers():
    shown = re.findall(r"```yaml\n(brokers:.*?)```", PAGE, re.DOTALL)[0]
    sweep = yaml.safe_load(shown)["sweep"]
    overrides = [f"sweep.{path}={json.dumps(values)}" for path, values in sweep.items()]
    run = plan_workload("demo", overrides=overrides, broker_named=registry.broker_named)
    assert len(run.cells) == 3 * 2 * 2 * (2 + 1)


def test_the_cells_shown_plan_on_the_real_broker():
    shown = re.findall(r"```yaml\n(broker: kafka\n.*?)```", PAGE, re.DOTALL)[0]
    cells = yaml.safe_load(shown)["cells"]
    cleared = ["producers.rate=null", "producers.arrival=null", "cells=" + json.dumps(cells)]
    run = plan_workload("demo", brokers=["kafka"], overrides=cleared, broker_named=registry.broker_named)
    assert [cell.label for cell in run.cells] == list(cells)


def test_the_overrides_shown_plan_on_the_real_brokers():
    commands = re.findall(r"^    brokerlab run (\S+) (--set .*)$", PAGE, re.MULTILINE)
    assert len(commands) == 4
    for name, flags in commands:
        overrides = [one.strip("' ") for one in flags.split("--set ") if one]
        assert plan_workload(name, overrides=overrides, broker_named=registry.broker_named).cells
