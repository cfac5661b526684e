"""Lag from offsets, where some of what is asked does not answer."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from brokerlab.brokers.kafka import lag
from brokerlab.brokers.kafka.lag import KafkaLag
from brokerlab.model.plan import Endpoint

ENDS = {("orders", 0): 100, ("orders", 1): 50}
COMMITTED = {"billing": 90, "mail": 70}


class Asked(Future[Any]):
    """Answers only when every group has been asked."""

    def __init__(self, admin: Admin, answer: Any) -> None:
        super().__init__()
        self._admin, self._answer = admin, answer

    def result(self, timeout: float | None = None) -> Any:
        assert timeout is not None
        assert sorted(self._admin.asked) == sorted(self._admin.groups), "one was waited for before all were asked"
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def answered(value: Any) -> Future[Any]:
    found: Future[Any] = Future()
    found.set_result(value)
    return found


class Admin:
    """Of a Kafka with these groups; those in `silent` do not answer."""

    def __init__(self, groups: tuple[str, ...], silent: set[str]) -> None:
        self.groups, self.silent = groups, silent
        self.asked: list[str] = []

    def list_consumer_groups(self, request_timeout: float) -> Future[Any]:
        assert request_timeout
        return answered(SimpleNamespace(valid=[SimpleNamespace(group_id=g) for g in self.groups]))

    def list_consumer_group_offsets(
        self, wanted: list[ConsumerGroupTopicPartitions], request_timeout: float
    ) -> dict[str, Future[Any]]:
        assert request_timeout
        (one,) = wanted
        self.asked.append(one.group_id)
        if one.group_id in self.silent:
            return {one.group_id: Asked(self, KafkaException(KafkaError(KafkaError._TIMED_OUT)))}
        position = TopicPartition("orders", 0, COMMITTED[one.group_id])
        return {one.group_id: Asked(self, SimpleNamespace(topic_partitions=[position]))}

    def list_offsets(self, wanted: Mapping[TopicPartition, Any], request_timeout: float) -> dict[Any, Future[Any]]:
        assert request_timeout
        return {p: answered(SimpleNamespace(offset=ENDS[p.topic, p.partition])) for p in wanted}


@pytest.fixture
def admin() -> Admin:
    return Admin(("billing", "mail"), set())


@pytest.fixture
def probe(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> KafkaLag:
    topics = {"orders": SimpleNamespace(partitions={0: None, 1: None})}
    client = SimpleNamespace(admin=admin, addresses="here", metadata=lambda _s: SimpleNamespace(topics=topics))
    monkeypatch.setattr(lag, "Client", lambda *_: client)
    return KafkaLag(Endpoint(addresses=("127.0.0.1:9092",)), (), "kafka")


def lags(probe: KafkaLag) -> dict[str, float]:
    return {r.subject: r.value for r in probe.read() if r.metric == "lag_messages"}


def test_all_groups_are_asked_before_any_is_waited_for(probe: KafkaLag) -> None:
    assert lags(probe) == {"group:kafka/billing/orders/0": 10, "group:kafka/mail/orders/0": 30}
    assert probe.missing() == {}


def test_a_group_that_does_not_answer_costs_the_others_nothing_and_is_said(probe: KafkaLag, admin: Admin) -> None:
    admin.silent.add("billing")
    readings = probe.read()
    assert {r.subject: r.value for r in readings if r.metric == "lag_messages"} == {"group:kafka/mail/orders/0": 30}
    assert {r.value for r in readings if r.metric == "messages_in_total"} == {150}
    assert list(probe.missing()) == ["group billing"]
    assert "does not answer" in probe.missing()["group billing"]
    admin.silent.clear()
    admin.asked.clear()
    assert len(lags(probe)) == 2
    assert probe.missing() == {}
