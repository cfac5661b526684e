"""SQS's drivers and a server whose answers are damaged: outcomes and lost connections, never another error."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from damaged_wire import DAMAGES, MESSAGES, Damage, Server, check_consumer, check_producer, speaking_to
from hypothesis import given

sys.path.insert(0, str(Path(__file__).parents[2] / "contract"))
from contract_load import agent_plan, cell_for

from brokerlab.brokers.sqs.consumer import SqsConsumer
from brokerlab.brokers.sqs.producer import SqsProducer
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN
from brokerlab.model.plan import AgentPlan, Durability, Endpoint


class SqsServer(Server):
    """Refuses the second message of a batch; gives one message to a poll."""

    def answers(self, data: bytes) -> list[bytes]:
        head, _, body = data.partition(b"\r\n\r\n")
        action = head.partition(b"x-amz-target: AmazonSQS.")[2].partition(b"\r\n")[0].decode()
        said = getattr(self, f"_{action}", lambda _: {})(json.loads(body))
        content = self.damaged(json.dumps(said).encode())
        return [b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(content), content)]

    def _GetQueueUrl(self, asked: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - the protocol's word
        return {"QueueUrl": f"http://server/{asked['QueueName']}"}

    def _SendMessageBatch(self, asked: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        names = [entry["Id"] for entry in asked["Entries"]]
        failed = [{"Id": name, "Code": "InvalidMessageContents", "SenderFault": True} for name in names[1:2]]
        return {"Successful": [{"Id": n, "MessageId": "m"} for n in (*names[:1], *names[2:])], "Failed": failed}

    def _ReceiveMessage(self, _: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        attributes = {"ApproximateReceiveCount": "1"}
        return {"Messages": [{"Body": "AAAA", "ReceiptHandle": "h", "Attributes": attributes}]}

    def _GetQueueAttributes(self, asked: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        return {"Attributes": dict.fromkeys(asked["AttributeNames"], "3")}


def plan(group: str | None = None) -> AgentPlan:
    settings = {"connections": "2", "polls": "1"}
    cell = cell_for("sqs", 1, Durability.L4, client_settings=settings)
    return agent_plan(cell, Endpoint(addresses=("server:1",)), ("t",), group, "each")


@given(DAMAGES, DAMAGES)
def test_a_producer_takes_any_damage_for_a_lost_request(inside: list[Damage], outside: list[Damage]) -> None:
    with speaking_to(lambda: SqsServer(inside, outside)):
        check_producer(lambda: SqsProducer(plan(), 0))


@given(DAMAGES, DAMAGES)
def test_a_consumer_takes_any_damage_for_a_lost_request(inside: list[Damage], outside: list[Damage]) -> None:
    with speaking_to(lambda: SqsServer(inside, outside)):
        check_consumer(lambda: SqsConsumer(plan("g"), 0))


def test_the_server_of_these_tests_is_understood_when_nothing_is_damaged() -> None:
    with speaking_to(lambda: SqsServer((), ())):
        assert check_producer(lambda: SqsProducer(plan(), 0)) == {ACKNOWLEDGED: 3, REJECTED: 2}
        assert check_consumer(lambda: SqsConsumer(plan("g"), 0)) > MESSAGES


class Instead(SqsServer):
    """Puts other text in place of some, in every answer."""

    def __init__(self, old: bytes, new: bytes) -> None:
        super().__init__((), ())
        self._change = (old, new)

    def damaged(self, content: bytes) -> bytes:
        return content.replace(*self._change)


@pytest.mark.parametrize("number", [b"1e999", b"NaN", b"null", b'"' + b"9" * 5000 + b'"', b"[]"])
def test_an_entry_that_was_not_sent_leaves_its_batch_unknown(number: bytes) -> None:
    with speaking_to(lambda: Instead(b'"Id": "0"', b'"Id": ' + number)):
        assert check_producer(lambda: SqsProducer(plan(), 0)) == {UNKNOWN: MESSAGES}


@pytest.mark.parametrize("number", [b"1e999", b"[]", b'"' + b"9" * 5000 + b'"'])
def test_a_message_with_no_count_is_left_to_come_again(number: bytes) -> None:
    with speaking_to(lambda: Instead(b'"1"', number)):
        assert check_consumer(lambda: SqsConsumer(plan("g"), 0)) == 0


@pytest.mark.parametrize("count", [b'"many"', b'"' + b"9" * 5000 + b'"', b"1e999", b'"-1"', b"null"])
def test_a_count_that_is_no_number_tells_nothing(count: bytes) -> None:
    with speaking_to(lambda: Instead(b'"3"', count)):
        consumer = SqsConsumer(plan("g"), 0)
        assert consumer.remaining() is None
        consumer.close(0)
