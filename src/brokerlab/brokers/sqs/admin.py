"""Queues, and what is known about their durability."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.kit.aws_json import Requests, with_tls
from brokerlab.brokers.kit.fine import fine_if
from brokerlab.brokers.kit.http_link import HttpLink, UnreadableAnswerError
from brokerlab.brokers.kit.link import RefusedError
from brokerlab.brokers.kit.names import belongs, of_partitions, plain_name
from brokerlab.brokers.kit.numbers import number_in_text
from brokerlab.brokers.sqs.protocol import MARK, queue_name, requests_to
from brokerlab.brokers.sqs.settings import server_settings
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Durability, Endpoint

_CLAIM = "AWS claims copies in several data centres; nothing it reports lets that be checked: counted as neither"
_STAND_IN = "not reported; ElasticMQ acknowledges before anything is on disk"
_COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


class SqsAdmin:
    """See brokers.contract.Admin. Connects for each request."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        self._endpoint = with_tls(endpoint)
        self._settings = server_settings(cell.broker_settings)
        self._requests = requests_to(endpoint)

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:  # noqa: ARG002 - a queue has one group
        attributes = {"VisibilityTimeout": self._settings["visibility_timeout_s"]}
        with HttpLink.session(self._endpoint) as link:
            for name in of_partitions(queue_name, destinations, partitions):
                self._requests.call(link, "CreateQueue", QueueName=name, Attributes=attributes)

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002
        with HttpLink.session(self._endpoint) as link:
            for url in [url for d in destinations for url in self._queues(link, d).values()]:
                with _absent_is_fine():
                    self._requests.call(link, "DeleteQueue", QueueUrl=url)

    def _queues(self, link: HttpLink, destination: str) -> dict[str, str]:
        """Addresses of a destination's queues by name."""
        name = plain_name(destination)
        found: list[str] = []
        page: dict[str, object] = {}
        while True:
            said = self._requests.call(link, "ListQueues", QueueNamePrefix=f"{name}{MARK}", MaxResults=1000, **page)
            found += map(str, said.get("QueueUrls") or [])
            if not said.get("NextToken"):
                break
            page = {"NextToken": said["NextToken"]}
        named = {url.rpartition("/")[2]: url for url in found}
        return {n: url for n, url in named.items() if belongs(n, name, MARK)}

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        with HttpLink.session(self._endpoint) as link:
            for name, url in ((n, u) for d in destinations for n, u in self._queues(link, d).items()):
                with _absent_is_fine():
                    found[f"queue:{name}"] = attributes_of(link, self._requests, url, ["All"])
        return found

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        """No answer of SQS tells what an acknowledgement has waited for."""
        if not self.effective_settings(destinations):
            raise BrokerError(f"no queues of {', '.join(destinations)}", hint="create them first")
        claim = _CLAIM if "region" in self._endpoint.options else _STAND_IN
        return ComputedDurability(Durability.L4, {"stored": claim})

    def close(self) -> None:
        """Nothing stays open between requests."""


def attributes_of(link: HttpLink, requests: Requests, queue_url: str, names: list[str]) -> dict[str, str]:
    said: dict[str, Any] = requests.call(link, "GetQueueAttributes", QueueUrl=queue_url, AttributeNames=names)
    found = said.get("Attributes") or {}
    if not isinstance(found, dict):
        raise UnreadableAnswerError("unreadable answer: no attributes of a queue")
    return {name: str(value) for name, value in found.items()}


def waiting(link: HttpLink, requests: Requests, queue_url: str) -> int:
    """Messages that are not deleted, delivered or not; for AWS an approximation, as its names say."""
    found = attributes_of(link, requests, queue_url, list(_COUNTS))
    return sum(number_in_text(found.get(name, "0").encode(errors="replace")) for name in _COUNTS)


@contextlib.contextmanager
def _absent_is_fine() -> Iterator[None]:
    kinds = ("QueueDoesNotExist", "NonExistentQueue")
    with fine_if(RefusedError, lambda e: str(e).startswith(kinds)):
        yield
