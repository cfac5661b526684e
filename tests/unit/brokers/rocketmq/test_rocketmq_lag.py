"""Lag from the offsets of several masters, of which one may be silent."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from rocketmq_stub import Request, Stub, answer

from brokerlab.brokers.rocketmq.lag import RocketLag
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

TOPICS = {name: {"readQueueNums": 2} for name in ("orders", "broker-a", "Shop", "TBW102", "%RETRY%billing")}
CONFIG = b"brokerName=broker-a\nbrokerClusterName=Shop\n"
POSITIONS = b'{"dataVersion":{"counter":3},"offsetTable":{"orders@billing":{0:4,1:10},"%RETRY%billing@billing":{0:1}}}'
ENDS = {"0": 10, "1": 12}


def broker(request: Request) -> bytes:
    """A master with ten and twelve messages in two queues."""
    match request.code:
        case 21:
            return answer(request.number, body=json.dumps({"topicConfigTable": TOPICS}).encode())
        case 26:
            return answer(request.number, body=CONFIG)
        case 43:
            return answer(request.number, body=POSITIONS)
        case 30:
            assert request.fields["topic"] == "orders", "only topics of users are asked for"
            return answer(request.number, offset=ENDS[request.fields["queueId"]])
    raise AssertionError(f"nothing else is asked: {request.code}")


@pytest.fixture
def masters() -> Iterator[tuple[Stub, Stub]]:
    made = Stub(broker), Stub(broker)
    yield made
    for stub in made:
        stub.close()


def probe_of(*addresses: str) -> RocketLag:
    return RocketLag(Endpoint(addresses=addresses), (), "mq")


def told(probe: RocketLag) -> dict[str, float]:
    return {f"{r.subject} {r.metric}": r.value for r in probe.read()}


def test_queues_are_numbered_one_master_after_the_other(masters: tuple[Stub, Stub]) -> None:
    assert told(probe_of(*(stub.address for stub in masters))) == {
        "group:mq/billing/orders/0 lag_messages": 6,
        "group:mq/billing/orders/1 lag_messages": 2,
        "group:mq/billing/orders/2 lag_messages": 6,
        "group:mq/billing/orders/3 lag_messages": 2,
        "destination:mq/orders messages_in_total": 44,
    }


def test_a_silent_master_costs_its_queues_and_what_topics_take_in(masters: tuple[Stub, Stub]) -> None:
    probe = probe_of(masters[0].address, "127.0.0.1:1")
    assert told(probe) == {"group:mq/billing/orders/0 lag_messages": 6, "group:mq/billing/orders/1 lag_messages": 2}
    assert list(probe.missing()) == ["queues at 127.0.0.1:1"]


def test_silence_of_all_is_an_error() -> None:
    with pytest.raises(BrokerError):
        probe_of("127.0.0.1:1").read()
