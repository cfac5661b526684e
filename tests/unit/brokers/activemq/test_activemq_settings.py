"""Settings, levels, names and broker.xml, without a server."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from brokerlab.brokers.activemq.beans import CALLABLE, READABLE, _belongs
from brokerlab.brokers.activemq.broker import BROKER
from brokerlab.brokers.activemq.configuration import broker_xml
from brokerlab.brokers.activemq.settings import durability_of, queue_name, topic_name
from brokerlab.brokers.kit.jolokia import policy
from brokerlab.model import plan as model
from brokerlab.model.plan import CellPlan, Durability, Security

CORE = "{http://activemq.apache.org/schema/core}"
BEANS = "{http://www.springframework.org/schema/beans}"


def cell(durability: Durability = Durability.L4, **changes: object) -> CellPlan:
    values: dict[str, object] = {
        "cell": "c01",
        "label": "activemq",
        "broker": "activemq",
        "nodes": 1,
        "durability": durability,
        "destinations": 1,
        "partitions": 1,
        "producers": model.ProducersPlan(
            count=1, agents=1, schedule=model.SchedulePlan(rate_per_s=1.0), payload=model.PayloadPlan()
        ),
        "consumers": model.ConsumersPlan(groups=1, per_group=1, agents_per_group=1),
        "phases": model.PhasesPlan(warm_up_s=0, measure_s=1, drain_limit_s=1),
        "parameters": {},
        "broker_settings": {},
        "client_settings": {},
    }
    return CellPlan(**(values | changes))


def said(cell: CellPlan) -> str:
    return "\n".join(map(str, BROKER.problems(cell)))


@pytest.mark.parametrize(
    ("strategy", "persistent", "level"),
    [
        ("ALWAYS", "true", Durability.L3),
        ("always", "true", Durability.L3),
        ("always", "false", Durability.L4),
        ("PERIODIC", "true", Durability.L4),
        ("NEVER", "true", Durability.L4),
        ("unknown; counted as never", "true", Durability.L4),
    ],
)
def test_only_a_persistent_message_in_a_journal_that_always_syncs_is_fsynced(
    strategy: str, persistent: str, level: Durability
) -> None:
    computed = durability_of(strategy, persistent)
    assert computed.level == level
    assert computed.because == {"journalDiskSyncStrategy": strategy, "persistent": persistent}


def test_a_cell_gets_the_strategy_its_level_needs_and_may_choose_another_of_that_level() -> None:
    assert said(cell(Durability.L3)) == said(cell(Durability.L4)) == ""
    assert said(cell(broker_settings={"journalDiskSyncStrategy": "never"})) == ""
    assert BROKER.planned_durability(cell(Durability.L3)).because["journalDiskSyncStrategy"] == "always"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"broker_settings": {"journalDiskSyncStrategie": "always"}}, "'journalDiskSyncStrategy'"),
        ({"broker_settings": {"journalDiskSyncStrategy": "sometimes"}}, "must be one of always, periodic, never"),
        ({"broker_settings": {"checkpointInterval": "-1"}}, "must be a whole number above 0"),
        ({"broker_settings": {"concurrentStoreAndDispatchQueues": "maybe"}}, "must be true or false"),
        ({"client_settings": {"persistent": "1"}}, "must be true or false"),
        ({"client_settings": {"prefetch": "0"}}, "must be a whole number above 0"),
        ({"broker_settings": {"journalDiskSyncStrategy": "always"}}, "give L3, not L4"),
        ({"durability": Durability.L3, "client_settings": {"persistent": "false"}}, "give L4, not L3"),
    ],
)
def test_what_cannot_be_is_refused_in_words(changes: dict[str, object], words: str) -> None:
    assert words in said(cell(**changes))


def test_a_groups_queues_take_from_the_virtual_topic_of_their_partition() -> None:
    assert topic_name("d", 3) == "VirtualTopic.d.3"
    assert queue_name("g", "d", 3) == "Consumer.g.VirtualTopic.d.3"


@pytest.mark.parametrize(
    ("name", "belongs"),
    [
        ("VirtualTopic.d.0", True),
        ("Consumer.g.VirtualTopic.d.12", True),
        ("VirtualTopic.d.e.0", False),
        ("VirtualTopic.dd.0", False),
        ("Other.VirtualTopic.d.0", False),
        ("d.0", False),
    ],
)
def test_only_a_destinations_own_queues_and_topics_are_deleted_with_it(name: str, belongs: bool) -> None:
    assert _belongs(name, "d") is belongs


def test_broker_xml_has_the_store_as_asked_and_exports_it() -> None:
    asked = cell(Durability.L3, broker_settings={"checkpointInterval": "1000"})
    root = ElementTree.fromstring(broker_xml("activemq-1", asked, Path("/a & b"), 4711, None))
    store = root.find(f"{CORE}kahaDB")
    assert store is not None
    assert store.get("journalDiskSyncStrategy") == "always"
    assert store.get("checkpointInterval") == "1000"
    assert store.get("directory") == "/a & b/kahadb"
    (connector,) = root.iter(f"{CORE}transportConnector")
    assert connector.get("uri") == "stomp://127.0.0.1:4711"
    (exported,) = root.iter(f"{BEANS}entry")
    assert exported.get("value-ref") == store.get("id")
    assert not list(root.iter(f"{CORE}simpleAuthenticationPlugin"))


def test_broker_xml_demands_tls_and_a_user_whose_password_is_never_read_as_an_expression(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACTIVEMQ_TEST_PASSWORD", "#{1 + 1} ${x} \"<&'")
    asked = cell(security=Security(tls=True, user="#store", password="env:ACTIVEMQ_TEST_PASSWORD"))
    text = broker_xml("activemq-1", asked, Path("/d"), 4711, Path("/d/server.p12"))
    root = ElementTree.fromstring(text)
    (connector,) = root.iter(f"{CORE}transportConnector")
    assert connector.get("uri") == "stomp+ssl://127.0.0.1:4711"
    assert [s.get("keyStore") for s in root.iter(f"{CORE}sslContext") if s.attrib] == ["file:/d/server.p12"]
    assert "1 + 1" not in text
    values = [p.get("value") or "" for p in root.iter(f"{BEANS}property") if p.get("name") in ("username", "password")]
    assert len(values) == 2
    assert all("Base64" in value for value in values)


def test_the_agent_lets_clients_read_and_delete_destinations_and_nothing_else() -> None:
    root = ElementTree.fromstring(policy(READABLE, CALLABLE).encode())
    commands = root.find("commands")
    assert commands is not None
    assert list(commands) == []
    operations = {o.text for o in root.iter("operation")}
    assert operations == {"removeQueue", "removeTopic"}
    assert {a.get("mode") for a in root.iter("attribute")} == {"read"}
    names = [n.text for n in root.iter("name")]
    assert len(names) == len(set(names)), "each bean once: a second entry would not be looked at"
