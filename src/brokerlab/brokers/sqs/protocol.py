"""SQS's words: names of queues, requests, and the messages in answers."""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Sequence
from typing import Any

from brokerlab.brokers.kit.aws_json import Requests, content
from brokerlab.brokers.kit.batches import BatchLimits
from brokerlab.brokers.kit.http_link import HttpAnswer, HttpLink, UnreadableAnswerError
from brokerlab.brokers.kit.http_reader import MISREAD
from brokerlab.brokers.kit.names import of_partitions, plain_name
from brokerlab.brokers.kit.polling import PolledMessage
from brokerlab.model.plan import AgentPlan, Endpoint

MOST_ENTRIES = 10  # of a batch, and messages of one answer
MARK = "-p"  # before the number of a partition
LIMITS = BatchLimits(MOST_ENTRIES, 256 << 10)  # AWS takes 1 MiB, ElasticMQ does not


def requests_to(endpoint: Endpoint) -> Requests:
    return Requests(endpoint, "AmazonSQS", "sqs")


def harmless(requests: Requests) -> bytes:
    """A request that changes nothing."""
    return requests.of_values("ListQueues", MaxResults=1)


def queue_name(destination: str, partition: int) -> str:
    return f"{plain_name(destination)}{MARK}{partition}"


def queue_urls(requests: Requests, endpoint: Endpoint, plan: AgentPlan) -> list[str]:
    """By the cell's partition numbers. Raises BrokerError."""
    names = of_partitions(queue_name, plan.destinations, plan.partitions)
    with HttpLink.session(endpoint) as link:
        return [str(requests.call(link, "GetQueueUrl", QueueName=name).get("QueueUrl")) for name in names]


def encoded(payload: bytes) -> bytes:
    """As a body can have it: SQS takes text only."""
    return b2a_base64(payload, newline=False)


def encoded_bytes(length: int) -> int:
    return (length + 2) // 3 * 4


def send_body(queue_url: str, bodies: Iterable[bytes]) -> bytes:
    entries = b",".join(b'{"Id":"%d","MessageBody":"%b"}' % (i, body) for i, body in enumerate(bodies))
    return b'{"QueueUrl":%b,"Entries":[%b]}' % (json.dumps(queue_url).encode(), entries)


def of_handles(queue_url: str, handles: Sequence[str], **more: object) -> dict[str, object]:
    """What a batch says about messages that were received."""
    entries = [{"Id": str(i), "ReceiptHandle": handle, **more} for i, handle in enumerate(handles)]
    return {"QueueUrl": queue_url, "Entries": entries}


def messages_in(answer: HttpAnswer) -> list[PolledMessage]:
    """Those of a ReceiveMessage. Raises UnreadableAnswerError."""
    try:
        return [_message(said) for said in content(answer).get("Messages") or []]
    except MISREAD as e:
        raise UnreadableAnswerError("unreadable answer: no messages of SQS") from e


def _message(said: dict[str, Any]) -> PolledMessage:
    """A body that is not ours comes as it is, so that it is counted."""
    body, handle = said["Body"], said["ReceiptHandle"]
    if not isinstance(body, str) or not isinstance(handle, str):
        raise TypeError(body, handle)
    try:
        payload = a2b_base64(body, strict_mode=True)
    except ValueError:
        payload = body.encode(errors="surrogatepass")
    count = int((said.get("Attributes") or {}).get("ApproximateReceiveCount", 1))
    return PolledMessage(payload, handle, count > 1)
