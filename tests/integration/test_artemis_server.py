"""Artemis for real: what its journal keeps, which journal really runs, and messages that nothing would keep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract_load import Sender, agent_plan, cell_for, deadline, receive
from contract_servers import START_S, Running, running_server

from brokerlab.brokers.artemis.beans import Beans
from brokerlab.brokers.artemis.broker import BROKER
from brokerlab.brokers.kit.jolokia import Jolokia
from brokerlab.brokers.kit.stomp_link import StompLink
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED
from brokerlab.model.plan import Durability


def sent(running: Running, name: str, count: int, **client_settings: str) -> None:
    """Messages that are all acknowledged."""
    cell = running.cell.model_copy(update={"client_settings": client_settings})
    producer = BROKER.producer(agent_plan(cell, running.endpoint, (name,)), 0)
    sender = Sender(producer, running.cell.partitions)
    sender.send(count)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    producer.close(deadline(5))


def test_a_killed_broker_keeps_every_acknowledged_message_that_is_persistent_and_no_other(tmp_path: Path) -> None:
    """At the weakest level too: the operating system has what the journal has written."""
    with running_server(BROKER, cell_for("artemis", 1, Durability.L4), tmp_path) as running:
        kept, lost = running.destination("g"), running.destination("g")
        sent(running, lost, 200, persistent="false")
        sent(running, kept, 500)
        (node,) = running.cluster.nodes()
        running.cluster.kill_node(node.name)  # type: ignore[attr-defined]
        running.cluster.start()
        running.cluster.wait_ready(deadline(START_S))
        assert running.cluster.nodes()[0].pid != node.pid
        (got,) = receive([running.consumer("g", kept)], 500)
        assert len(got) == 500
        assert all(m.intact for m in got)
        assert running.consumer("g", lost).remaining() == 0


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("artemis") / "a b & c"


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[Running]:
    """With settings of its own, none of which is the default, in a directory whose name needs care."""
    settings = {
        "journal-type": "ASYNCIO",
        "journal-sync-non-transactional": "false",
        "journal-buffer-timeout": "500000",
        "journal-file-size": "4194304",
    }
    with running_server(BROKER, cell_for("artemis", 1, Durability.L4, broker_settings=settings), directory) as running:
        yield running


def test_the_journal_that_really_runs_is_told_whatever_was_asked_for(running: Running, directory: Path) -> None:
    """Without libaio Artemis takes NIO in place of ASYNCIO, and says so in its log only."""
    settings = running.admin.effective_settings((running.destination(),))
    log = (directory / "logs" / "artemis-1.log").read_text()
    runs = {"Using NIO Journal": "NIO", "Using AIO Journal": "ASYNCIO"}
    (really,) = {kind for words, kind in runs.items() if words in log}
    assert settings["journal:artemis-1"]["journal-type"] == settings["broker:artemis-1"]["JournalType"] == really
    assert settings["journal:artemis-1"]["journal-sync-non-transactional"] == "false"
    assert settings["broker:artemis-1"]["JournalFileSize"] == "4194304"
    assert settings["broker:artemis-1"]["JournalBufferTimeout"] == "500000"
    assert settings["broker:artemis-1"]["Version"] == BROKER.version


def test_a_message_for_an_address_that_does_not_exist_is_rejected_and_makes_none(running: Running) -> None:
    """Artemis' own default would make an address without queues, acknowledge every message, and keep none."""
    sender = running.sender("never-made")
    sender.send(1)
    assert sender.settle() == {0: REJECTED}
    with pytest.raises(BrokerError, match="no durable queue keeps what is sent to never-made"):
        running.admin.durability(("never-made",))


def test_an_address_of_which_no_durable_queue_keeps_anything_is_refused_before_any_load(running: Running) -> None:
    """It does what the rule is for: it acknowledges, and keeps nothing."""
    name = running.destination()
    assert running.admin.durability((name,)).level == Durability.L4
    beans = Beans(running.endpoint)
    active = beans.active()
    kind = {
        "routing-type": "MULTICAST",
        "durable": False,
        "filter-string": "color = 'red'",
        "auto-create-address": True,
    }
    queue = json.dumps({"name": "red", "address": f"{name}.7", **kind})
    active.jolokia.call(active.bean, "createQueue(java.lang.String,boolean)", queue, True)
    with StompLink.session(running.endpoint) as link:
        link.call("SEND", {"destination": f"{name}.7", "persistent": "true"})  # a receipt comes
    assert [q["MessageCount"] for q in beans.queues(name) if q["Name"] == "red"] == [0]
    with pytest.raises(BrokerError, match=rf"no durable queue keeps what is sent to {name}\.7"):
        running.admin.durability((name,))


def test_without_jolokia_it_is_said_what_to_give(running: Running) -> None:
    endpoint = running.endpoint.model_copy(update={"options": {}})
    with pytest.raises(BrokerError) as told:
        BROKER.admin(endpoint, running.cell).create(("d",), 1, ())
    assert "artemis.jolokia" in str(told.value.hint)


def test_a_broker_that_does_not_tell_whether_it_fsyncs_is_counted_as_one_that_does_not(running: Running) -> None:
    active = Beans(running.endpoint).active()
    (arguments,) = active.jolokia.read("java.lang:type=Runtime,*", ["InputArguments"]).values()
    assert "-Dbrokerconfig.journalDatasync=false" in arguments["InputArguments"]

    class Silent:
        def read(self, *_: object) -> dict[str, dict[str, list[str]]]:
            return {"java.lang:type=Runtime": {"InputArguments": ["-Xmx1g"]}}

    object.__setattr__(active, "jolokia", Silent())
    assert active.journal()["journal-datasync"] == "unknown; counted as false"


FORBIDDEN: list[dict[str, Any]] = [
    {"type": "exec", "mbean": 'org.apache.activemq.artemis:broker="artemis-1"', "operation": "forceFailover()"},
    {"type": "write", "mbean": "java.lang:type=Memory", "attribute": "Verbose", "value": True},
    {"type": "read", "mbean": "java.lang:type=Runtime", "attribute": ["SystemProperties"]},
    {"type": "search", "mbean": "*:*"},
    {"type": "list"},
]


@pytest.mark.parametrize("request_body", FORBIDDEN, ids=lambda body: f"{body['type']}")
def test_the_agent_refuses_what_its_policy_does_not_name(running: Running, request_body: dict[str, Any]) -> None:
    (answer,) = Jolokia(running.endpoint.options["jolokia"], None).ask([request_body])
    assert answer["status"] == 403
