"""Where the figures of a broker that the user runs are read, from its endpoint and what is added to it."""

from __future__ import annotations

import pytest

from brokerlab.brokers.contract import WatchedByEndpoint
from brokerlab.brokers.registry import BROKERS, broker_named

ADDRESSES = ("10.0.0.1:1", "10.0.0.2:1")


def urls(broker: str, **options: str) -> list[dict[str, str]]:
    front = broker_named(broker)
    assert isinstance(front, WatchedByEndpoint)
    return [node.urls for node in front.nodes_at(ADDRESSES, options, "mine")]


def test_an_address_is_enough_where_figures_are_asked_for_there() -> None:
    assert urls("redis") == [{"redis": "10.0.0.1:1"}, {"redis": "10.0.0.2:1"}]


def test_an_option_says_it_for_each_node_and_a_default_stands_in() -> None:
    assert urls("kafka") == [{}, {}]
    assert urls("kafka", jolokia="http://a, http://b") == [{"jolokia": "http://a"}, {"jolokia": "http://b"}]
    assert urls("rabbitmq-quorum")[0] == {"prometheus": "http://10.0.0.1:15692/metrics"}


@pytest.mark.parametrize("name", BROKERS)
def test_every_broker_can_be_watched_by_endpoint(name: str) -> None:
    front = broker_named(name)
    assert isinstance(front, WatchedByEndpoint)
    nodes = front.nodes_at(ADDRESSES, {}, "mine")
    assert [node.name for node in nodes] == ["mine-1", "mine-2"]
