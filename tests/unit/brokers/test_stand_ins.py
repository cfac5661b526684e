"""Where another product runs in a broker's place, people are told which: in plans, before runs and in results."""

from __future__ import annotations

import re

import pytest

from brokerlab import lab
from brokerlab.brokers.registry import BROKERS, broker_named
from brokerlab.model.plan import Endpoint

STAND_INS = {"mongodb": "FerretDB", "sqs": "ElasticMQ"}


def test_a_version_that_names_another_product_belongs_to_a_stand_in_and_to_no_other_broker() -> None:
    named = {name: re.match("[A-Z][A-Za-z]+", broker_named(name).version) for name in BROKERS}
    assert {name: found[0] for name, found in named.items() if found} == STAND_INS
    assert {name for name in BROKERS if broker_named(name).stand_in} == set(STAND_INS)


@pytest.mark.parametrize(("name", "runs"), STAND_INS.items())
def test_what_runs_here_is_named_before_it_runs_and_an_endpoint_is_not_called_so(name: str, runs: str) -> None:
    broker = broker_named(name)
    plan = lab.plan("steady", brokers=[name])
    version = broker.installation().version or broker.version
    assert version.startswith(runs)
    assert lab.planned_settings(plan.cells[0]).broker == f"{broker.product} ({version})"
    assert lab.remarks(plan) == [f"{name}: what runs here is {version}"]
    addressed = lab.plan("steady", brokers=[name], endpoints={name: Endpoint(addresses=("127.0.0.1:4222",))})
    assert lab.planned_settings(addressed.cells[0]).broker == f"{broker.product} at 127.0.0.1:4222"
    assert lab.remarks(addressed) == []
