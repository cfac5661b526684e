"""Topics and subscriptions from what the administrative interface says; what it refuses costs nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from brokerlab.brokers.pulsar import lag
from brokerlab.brokers.pulsar.lag import PulsarLag
from brokerlab.brokers.pulsar.rest import RestError
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint


def stats(taken_in: int, **behind: int) -> dict[str, Any]:
    groups = {group: {"msgBacklog": entries} for group, entries in behind.items()}
    return {"msgInCounter": taken_in, "subscriptions": groups}


PLAIN, DIVIDED = "/admin/v2/persistent/shop/eu/mail", "/admin/v2/persistent/shop/eu/orders"
PARTS = {f"persistent://shop/eu/orders-partition-{i}": stats(10 * (i + 1), billing=i) for i in range(2)}
SHOP = "persistent://shop/eu"


class Brokers:
    """Answer by path; what is no answer is raised."""

    def __init__(self, _endpoint: object, seconds: float) -> None:
        assert seconds
        self.answers: dict[str, Any] = {
            "/admin/v2/tenants": ["pulsar", "secret", "shop"],
            "/admin/v2/namespaces/secret": RestError(403, "no"),
            "/admin/v2/namespaces/shop": ["shop/eu", "shop/private"],
            "/admin/v2/persistent/shop/private": RestError(401, "no"),
            "/admin/v2/persistent/shop/eu": [
                *(f"{SHOP}/{name}" for name in ("mail", "orders-partition-0", "orders-partition-1", "__change_events")),
            ],
            f"{PLAIN}/stats": stats(7, inbox=3),
            f"{DIVIDED}/partitioned-stats": {"partitions": dict(PARTS)},
        }

    def get(self, path: str) -> Any:
        answer = self.answers[path.partition("?")[0]]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> PulsarLag:
    monkeypatch.setattr(lag, "Rest", Brokers)
    monkeypatch.setattr(lag, "PAGES_EVERY_S", 0.0)
    monkeypatch.setattr(lag, "LIST_EVERY_S", 0.0)
    return PulsarLag(Endpoint(addresses=("127.0.0.1:6650",)), (), "mq")


def answers(probe: PulsarLag) -> dict[str, Any]:
    brokers = probe._rest
    assert isinstance(brokers, Brokers)
    return brokers.answers


def told(probe: PulsarLag) -> dict[str, float]:
    return {f"{r.subject.replace('%2F', '/')} {r.metric}": r.value for r in probe.read()}


def test_partitions_of_a_topic_are_one_destination_and_refused_namespaces_are_left_out(probe: PulsarLag) -> None:
    assert told(probe) == {
        "destination:mq/shop/eu/mail messages_in_total": 7,
        "group:mq/inbox/shop/eu/mail/0 lag_entries": 3,
        "destination:mq/shop/eu/orders messages_in_total": 30,
        "group:mq/billing/shop/eu/orders/0 lag_entries": 0,
        "group:mq/billing/shop/eu/orders/1 lag_entries": 1,
    }
    assert probe.missing() == {}


def test_what_was_taken_in_is_not_told_while_a_partition_is_not_served(probe: PulsarLag) -> None:
    answers(probe)[f"{DIVIDED}/partitioned-stats"]["partitions"].popitem()
    found = told(probe)
    assert "destination:mq/shop/eu/orders messages_in_total" not in found, "the sum would fall and rise again"
    assert found["group:mq/billing/shop/eu/orders/0 lag_entries"] == 0


def test_a_topic_that_is_gone_costs_the_others_nothing(probe: PulsarLag) -> None:
    answers(probe)[f"{PLAIN}/stats"] = RestError(404, "gone")
    assert "destination:mq/shop/eu/orders messages_in_total" in told(probe)


def test_silent_brokers_are_said_until_they_answer(probe: PulsarLag) -> None:
    all_answers = dict(answers(probe))
    answers(probe)["/admin/v2/tenants"] = BrokerError("does not answer")
    assert told(probe) == {}
    assert probe.missing() == {"its destinations and groups": "does not answer"}
    answers(probe).update(all_answers)
    assert told(probe)
    assert probe.missing() == {}


def test_only_so_many_topics_are_asked_for(probe: PulsarLag, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag, "MOST_TOPICS", 1)
    assert {key.split()[0] for key in told(probe) if key.startswith("destination")} == {"destination:mq/shop/eu/mail"}
    assert list(probe.missing()) == ["the rest of its topics"]
