"""ElasticMQ for real: requests that are signed. What it loses when it is killed: tests/e2e/test_lose_a_node.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_load import Sender, agent_plan, cell_for, deadline, receive
from contract_servers import running_server

from brokerlab.brokers.sqs.broker import BROKER
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability


def test_signed_requests_do_all_that_unsigned_ones_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in does not check a signature, but has to find everything else around it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    cell = cell_for("sqs", 1, Durability.L4)
    with running_server(BROKER, cell, tmp_path) as running:
        endpoint = running.endpoint.model_copy(update={"options": {"region": "elasticmq"}})
        admin = BROKER.admin(endpoint, cell)
        admin.create(("signed",), cell.partitions, ())
        computed = admin.durability(("signed",))
        assert computed.level == Durability.L4
        assert "claim" in computed.because["stored"]
        consumer = BROKER.consumer(agent_plan(cell, endpoint, ("signed",), "g"), 0)
        sender = Sender(BROKER.producer(agent_plan(cell, endpoint, ("signed",)), 0), cell.partitions)
        sender.send(100)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}
        (got,) = receive([consumer], 100)
        assert len(got) == 100
        consumer.close(deadline(5))
        sender.producer.close(deadline(5))
        admin.delete(("signed",), ())
        assert admin.effective_settings(("signed",)) == {}
