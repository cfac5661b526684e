"""Destinations and groups from the beans of several nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from brokerlab.brokers.contract import Reading
from brokerlab.brokers.kit import jolokia_lag
from brokerlab.brokers.kit.jolokia_lag import BeansLag, keys_of
from brokerlab.brokers.kit.lag import lag_rows, queue_readings
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import Bean

QUEUE = "mq:queue=*"


class QueueLag(BeansLag):
    rows = lag_rows(held=Bean(QUEUE, "Size"))

    def _of(self, beans: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Reading]]:
        return {
            keys_of(b)["queue"]: queue_readings(self._name, keys_of(b)["queue"], v["Size"])
            for b, v in beans[QUEUE].items()
        }


NODES: dict[str, Any] = {}


class Node:
    """Answers as NODES says: beans, a status, or an error that is raised."""

    def __init__(self, url: str, _security: object, _seconds: float) -> None:
        self._url = url

    def ask(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        told = NODES[self._url]
        if isinstance(told, OSError):
            raise told
        status, value = (told, None) if isinstance(told, int) else (200, told)
        return [{"status": status, "value": value, "error": "refused", "request": request} for request in requests]


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> QueueLag:
    NODES.update({"http://a": {"mq:queue=one": {"Size": 3}}, "http://b": {'mq:queue="t,w\\"o"': {"Size": 5}}})
    monkeypatch.setattr(jolokia_lag, "Jolokia", Node)
    endpoint = Endpoint(addresses=("127.0.0.1:61613",), options={"jolokia": "http://a,http://b"})
    return QueueLag(endpoint, (), "mq")


def lags(probe: QueueLag) -> dict[str, float]:
    return {r.subject: r.value for r in probe.read() if r.metric == "lag_messages"}


def test_names_of_beans_are_taken_apart_with_and_without_quotes() -> None:
    bean = 'org.x:address="a,b=\\"c\\"",component=addresses,routing-type="multicast",queue="q\\*"'
    assert keys_of(bean) == {
        "address": 'a,b="c"', "component": "addresses", "routing-type": "multicast", "queue": "q*",
    }  # fmt: skip


def test_all_nodes_are_read_and_a_backup_without_queues_is_no_error(probe: QueueLag) -> None:
    assert lags(probe) == {"group:mq/one/one/0": 3, "group:mq/t%2Cw%22o/t%2Cw%22o/0": 5}
    NODES["http://b"] = 404
    assert lags(probe) == {"group:mq/one/one/0": 3}
    assert probe.missing() == {}


@pytest.mark.parametrize("instead", [OSError("no answer"), 403])
def test_a_node_that_does_not_answer_costs_its_own_queues(probe: QueueLag, instead: object) -> None:
    NODES["http://b"] = instead
    assert lags(probe) == {"group:mq/one/one/0": 3}
    assert list(probe.missing()) == ["destinations at http://b"]


def test_silence_of_all_nodes_is_an_error_and_no_address_is_none(probe: QueueLag) -> None:
    NODES.update({"http://a": OSError("no answer"), "http://b": 403})
    with pytest.raises(BrokerError, match="no answer; refused"):
        probe.read()
    assert QueueLag(Endpoint(addresses=("127.0.0.1:61613",)), (), "mq").read() == []
