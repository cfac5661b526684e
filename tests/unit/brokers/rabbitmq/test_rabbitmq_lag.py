"""Queues from the detailed pages of several nodes."""

from __future__ import annotations

import pytest

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.rabbitmq import lag
from brokerlab.brokers.rabbitmq.lag import RabbitLag
from brokerlab.model.plan import Endpoint

READY, UNACKED, PUBLISHED = (
    f"rabbitmq_detailed_queue_{name}"
    for name in ("messages_ready", "messages_unacked", "exchange_messages_published_total")
)
KINDS = 'rabbitmq_detailed_stream_segments{vhost="/",queue="log"} 1\n'
LEADER = f"""# TYPE {PUBLISHED} counter
{READY}{{vhost="/",queue="orders"}} 5
{READY}{{vhost="/",queue="log"}} 90
{READY}{{vhost="shop",queue="orders"}} 1
{UNACKED}{{vhost="/",queue="orders"}} 2
{PUBLISHED}{{vhost="/",exchange="",queue="orders"}} 30
{PUBLISHED}{{vhost="/",exchange="all",queue="orders"}} 4
"""
FOLLOWER = f"""# TYPE {PUBLISHED} counter
{READY}{{vhost="/",queue="orders"}} 1
{PUBLISHED}{{vhost="/",exchange="all",queue="orders"}} 60
"""


class Nodes:
    """Answer as told; an OSError is raised."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pages: dict[str, str | OSError] = {"http://a": LEADER, "http://b": FOLLOWER}
        self.asked: list[str] = []
        monkeypatch.setattr(lag, "read_text", self._read)
        monkeypatch.setattr(lag, "PAGES_EVERY_S", 0.0)

    def _read(self, url: str, _seconds: float) -> str:
        self.asked.append(url)
        page = self.pages[url.partition("/detailed")[0]]
        if isinstance(page, OSError):
            raise page
        return KINDS if "queue_metrics" in url else page


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Nodes:
    return Nodes(monkeypatch)


@pytest.fixture
def probe(nodes: Nodes) -> RabbitLag:  # noqa: ARG001 - answers in its place
    known = tuple(NodeInfo(f"rabbitmq-{name}", 0, {"prometheus": f"http://{name}"}) for name in "ab")
    return RabbitLag(Endpoint(addresses=("127.0.0.1:5672",)), known, "mq")


def told(probe: RabbitLag) -> dict[str, float]:
    return {f"{r.subject} {r.metric}": r.value for r in probe.read()}


def test_a_queue_is_as_long_as_its_leader_says_and_takes_in_what_came_through_any_node(probe: RabbitLag) -> None:
    found = told(probe)
    assert found["destination:mq/orders messages"] == 7
    assert found["group:mq/orders/orders/0 lag_messages"] == 7
    assert found["destination:mq/orders messages_in_total"] == 94
    assert found["destination:mq/shop%2Forders messages_in_total"] == 0, "none was published so far"


def test_a_stream_is_no_group(probe: RabbitLag) -> None:
    assert [key for key in told(probe) if "log" in key] == ["destination:mq/log messages"]


def test_while_a_node_is_silent_nothing_is_told_of_what_came_through_it(probe: RabbitLag, nodes: Nodes) -> None:
    nodes.pages["http://b"] = OSError("no answer")
    found = told(probe)
    assert found["group:mq/orders/orders/0 lag_messages"] == 7
    assert not any(key.endswith("messages_in_total") for key in found), "the sum would fall and rise again"
    assert probe.missing() == {"queues at rabbitmq-b": "no answer"}
    nodes.pages["http://b"] = FOLLOWER
    assert told(probe)["destination:mq/orders messages_in_total"] == 94
    assert probe.missing() == {}


def test_kinds_are_asked_for_only_when_there_is_a_new_queue(probe: RabbitLag, nodes: Nodes) -> None:
    told(probe)
    told(probe)
    assert sum("family=queue_metrics" in url for url in nodes.asked) == 2, "once of each node"
    nodes.pages["http://a"] = LEADER + f'{READY}{{vhost="/",queue="new"}} 0\n'
    told(probe)
    assert sum("family=queue_metrics" in url for url in nodes.asked) == 4
