"""ActiveMQ for real: what KahaDB keeps, what the broker tells, and what its agent lets anybody do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract_load import Sender, agent_plan, cell_for, deadline, receive
from contract_servers import START_S, Running, running_server

from brokerlab.brokers.activemq.broker import BROKER
from brokerlab.brokers.kit.http_reader import ask
from brokerlab.brokers.kit.jolokia import ORIGIN, Jolokia
from brokerlab.brokers.kit.recipes import JavaServer
from brokerlab.errors import BrokerDiedError, BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import CellPlan, Durability

ALWAYS = cell_for("activemq", 1, Durability.L3)


def sent(running: Running, name: str, count: int, **client_settings: str) -> None:
    """Messages that are all acknowledged."""
    cell = running.cell.model_copy(update={"client_settings": client_settings})
    producer = BROKER.producer(agent_plan(cell, running.endpoint, (name,)), 0)
    sender = Sender(producer, running.cell.partitions)
    sender.send(count)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    producer.close(deadline(5))


def test_a_killed_broker_keeps_every_acknowledged_message_that_is_persistent_and_no_other(tmp_path: Path) -> None:
    with running_server(BROKER, ALWAYS, tmp_path) as running:
        kept, lost = running.destination("g"), running.destination("g")
        assert running.admin.durability((kept,)).level == Durability.L3
        sent(running, kept, 500)
        sent(running, lost, 200, persistent="false")
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
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """With settings of its own, none of which is the default, in a directory whose name needs care."""
    settings = {
        "journalDiskSyncStrategy": "never",
        "concurrentStoreAndDispatchQueues": "false",
        "journalMaxFileLength": "4194304",
    }
    cell = cell_for("activemq", 1, Durability.L4, broker_settings=settings)
    with running_server(BROKER, cell, tmp_path_factory.mktemp("activemq") / "a b & c") as running:
        yield running


def test_the_store_itself_tells_the_settings_it_was_given(running: Running) -> None:
    name = running.destination("g")
    settings = running.admin.effective_settings((name,))
    assert settings["store"]["JournalDiskSyncStrategy"] == "NEVER"
    assert settings["store"]["ConcurrentStoreAndDispatchQueues"] == "false"
    assert settings["store"]["JournalMaxFileLength"] == "4194304"
    assert settings["broker"]["BrokerVersion"] == BROKER.version
    computed = running.admin.durability((name,))
    assert computed.level == Durability.L4
    assert computed.because == {"journalDiskSyncStrategy": "NEVER", "persistent": "true"}


def test_without_jolokia_the_weaker_level_is_said_messages_pass_and_deleting_says_what_to_do(running: Running) -> None:
    """As with a broker of the user's whose web console is not reached."""
    name = running.destination("g")
    endpoint = running.endpoint.model_copy(update={"options": {}})
    admin = BROKER.admin(endpoint, ALWAYS)
    computed = admin.durability((name,))
    assert computed.level == Durability.L4
    assert "unknown" in computed.because["journalDiskSyncStrategy"]
    consumer = BROKER.consumer(agent_plan(running.cell, endpoint, (name,), running.group("g")), 0)
    assert consumer.remaining() is None
    sent(running, name, 100)
    (got,) = receive([consumer], 100)
    assert len(got) == 100
    consumer.close(deadline(5))
    with pytest.raises(BrokerError) as told:
        admin.delete((name,), ())
    assert "jolokia" in str(told.value.hint)


FORBIDDEN: list[dict[str, Any]] = [
    {"type": "exec", "mbean": "org.apache.activemq:brokerName=activemq-1,type=Broker", "operation": "stop"},
    {"type": "write", "mbean": "java.lang:type=Memory", "attribute": "Verbose", "value": True},
    {"type": "read", "mbean": "java.lang:type=Runtime", "attribute": ["SystemProperties"]},
    {"type": "search", "mbean": "*:*"},
    {"type": "list"},
]


@pytest.mark.parametrize("request_body", FORBIDDEN, ids=lambda body: f"{body['type']}")
def test_the_agent_refuses_what_its_policy_does_not_name(running: Running, request_body: dict[str, Any]) -> None:
    jolokia = Jolokia(running.endpoint.options["jolokia"], None)
    (answer,) = jolokia.ask([request_body])
    assert answer["status"] == 403
    assert "BrokerName" in next(
        iter(jolokia.read("org.apache.activemq:brokerName=*,type=Broker", ["BrokerName"]).values())
    )


def test_the_agent_answers_nobody_who_comes_from_elsewhere(running: Running) -> None:
    body = b'{"type": "read", "mbean": "java.lang:type=Threading", "attribute": ["ThreadCount"]}'
    url = running.endpoint.options["jolokia"]
    answers = [
        ask(url, method="POST", body=body, headers={"Content-Type": "application/json", "Origin": origin}).text
        for origin in (ORIGIN, "http://localhost")
    ]
    assert ['"status":200' in text for text in answers] == [True, False]


def test_a_jar_that_activemq_does_not_name_as_a_dependency_is_missed_at_the_start(tmp_path: Path) -> None:
    """So a lock made from ActiveMQ's own dependencies alone starts nothing, and says which class it lacks."""
    found: JavaServer = BROKER.recipe.programs()
    jars = tuple(jar for jar in found.jars if not jar.name.startswith("spring-context"))
    assert len(jars) == len(found.jars) - 1
    cluster = _cluster(ALWAYS, JavaServer(found.java, jars), tmp_path)
    try:
        cluster.start()
        with pytest.raises(BrokerDiedError, match="org/springframework/context"):
            cluster.wait_ready(deadline(START_S))
    finally:
        cluster.stop()
        cluster.clean()


def _cluster(cell: CellPlan, server: JavaServer, directory: Path) -> Any:
    from brokerlab.brokers.activemq.cluster import ActiveCluster

    return ActiveCluster(cell, server, directory / "data", directory / "logs")
