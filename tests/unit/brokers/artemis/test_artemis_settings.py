"""Settings, levels and names, without a server."""

from __future__ import annotations

import pytest

from brokerlab.brokers.artemis.beans import by_pair
from brokerlab.brokers.artemis.broker import BROKER
from brokerlab.brokers.artemis.settings import DATASYNC, KIND, SYNC, QueueName, durability_of
from brokerlab.brokers.kit.names import belongs
from brokerlab.model import plan as model
from brokerlab.model.plan import CellPlan, Durability, Endpoint, Security


def cell(durability: Durability = Durability.L4, **changes: object) -> CellPlan:
    values: dict[str, object] = {
        "cell": "c01",
        "label": "artemis",
        "broker": "artemis",
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
    ("datasync", "sync", "persistent", "replicated", "level"),
    [
        ("true", "true", "true", "false", Durability.L3),
        ("false", "true", "true", "false", Durability.L4),
        ("true", "false", "true", "false", Durability.L4),
        ("true", "true", "false", "false", Durability.L4),
        ("unknown; counted as false", "true", "true", "false", Durability.L4),
        ("true", "true", "true", "true", Durability.L2),  # the backup has not written what it confirms
        ("false", "true", "true", "true", Durability.L2),
        ("true", "true", "false", "true", Durability.L4),
    ],
)
def test_the_level_follows_from_the_journal_the_message_and_the_backup(
    datasync: str, sync: str, persistent: str, replicated: str, level: Durability
) -> None:
    computed = durability_of({KIND: "NIO", DATASYNC: datasync, SYNC: sync}, persistent, replicated)
    assert computed.level == level
    assert computed.because[DATASYNC] == datasync
    assert computed.because["replicated"] == replicated


def test_a_cell_gets_the_journal_that_its_level_needs() -> None:
    assert said(cell(Durability.L3)) == said(cell(Durability.L4)) == said(cell(Durability.L2, nodes=2)) == ""
    assert BROKER.planned_durability(cell(Durability.L3)).because[DATASYNC] == "true"
    assert BROKER.planned_durability(cell(Durability.L4)).because[DATASYNC] == "false"
    assert said(cell(Durability.L2, nodes=6, broker_settings={DATASYNC: "true"})) == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"broker_settings": {"journal-typ": "NIO"}}, "'journal-type'"),
        ({"broker_settings": {"journal-type": "AIO"}}, "must be one of NIO, ASYNCIO, MAPPED"),
        ({"broker_settings": {"journal-file-size": "0"}}, "must be a whole number above 0"),
        ({"broker_settings": {"journal-datasync": "yes"}}, "must be true or false"),
        ({"client_settings": {"consumer_window_bytes": "-2"}}, "must be a whole number of bytes, or -1"),
        ({"broker_settings": {"journal-datasync": "true"}}, "give L3, not L4"),
        ({"durability": Durability.L3, "client_settings": {"persistent": "false"}}, "give L4, not L3"),
        ({"durability": Durability.L1, "nodes": 2}, "give L2, not L1"),
        ({"security": Security(user="a,b", password="env:X")}, "no name with a comma"),
    ],
)
def test_what_cannot_be_is_refused_in_words(changes: dict[str, object], words: str) -> None:
    assert words in said(cell(**changes))


@pytest.mark.parametrize(
    ("address", "ours"),
    [("d.0", True), ("d.12", True), ("d.e.0", False), ("dd.0", False), ("d", False), ("d.x", False)],
)
def test_only_a_destinations_own_addresses_are_deleted_with_it(address: str, ours: bool) -> None:
    assert belongs(address, "d") is ours


def test_neighbouring_partitions_are_on_different_pairs_and_all_groups_of_one_on_the_same() -> None:
    pairs = [QueueName("g", "d", p).pair(3) for p in range(6)]
    assert sorted(pairs[:3]) == [0, 1, 2]
    assert pairs[:3] == pairs[3:]
    assert pairs == [QueueName("other", "d", p).pair(3) for p in range(6)]


def test_every_queue_is_looked_for_on_the_nodes_of_its_pair_only() -> None:
    addresses, urls = tuple(f"h:{i}" for i in range(1, 7)), ",".join(f"http://h:{i}0/j" for i in range(1, 7))
    whole = Endpoint(addresses=addresses, options={"jolokia": urls, "pairs": "3"})
    names = [QueueName("g", "d", p) for p in range(4)]
    parts = by_pair(whole, names)
    assert sorted((n.partition for _, own in parts for n in own)) == [0, 1, 2, 3]
    for endpoint, own in parts:
        first = 2 * own[0].pair(3)
        assert endpoint.addresses == addresses[first : first + 2]
        assert endpoint.options["jolokia"] == ",".join(urls.split(",")[first : first + 2])
    ((only, one),) = by_pair(whole, names[:1])
    assert (len(only.addresses), one) == (2, names[:1])
