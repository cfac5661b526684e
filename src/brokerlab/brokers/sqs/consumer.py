"""Receiving: ReceiveMessage with a long poll, DeleteMessageBatch, and ChangeMessageVisibilityBatch to give back."""

from __future__ import annotations

from collections.abc import Sequence

from brokerlab.brokers.kit.aws_json import refusal, with_tls
from brokerlab.brokers.kit.http_link import HttpAnswer, HttpLink, UnreadableAnswerError
from brokerlab.brokers.kit.polling import PolledMessage, PollingConsumer, PollLimits
from brokerlab.brokers.sqs.admin import waiting
from brokerlab.brokers.sqs.outcomes import ERRORS, is_too_many
from brokerlab.brokers.sqs.producer import PATH
from brokerlab.brokers.sqs.protocol import MOST_ENTRIES, harmless, messages_in, of_handles, queue_urls, requests_to
from brokerlab.brokers.sqs.settings import client_settings
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import REJECTED
from brokerlab.model.plan import AgentPlan


class SqsConsumer(PollingConsumer):
    """See brokers.contract.Consumer."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        self._endpoint = with_tls(plan.endpoint)
        self._requests = requests_to(self._endpoint)
        self._urls = queue_urls(self._requests, self._endpoint, plan)
        settings = client_settings(plan.client_settings)
        limits = PollLimits(settings["polls"], settings["wait_s"], settings["prefetch"], MOST_ENTRIES)
        super().__init__(plan, number, self._endpoint, len(self._urls), limits)

    def _proof(self) -> bytes:
        return harmless(self._requests)

    def _poll(self, queue: int) -> bytes:
        return self._requests.of_values(
            "ReceiveMessage",
            QueueUrl=self._urls[queue],
            MaxNumberOfMessages=MOST_ENTRIES,
            WaitTimeSeconds=self._limits.wait_s,
            AttributeNames=["ApproximateReceiveCount"],
        )

    def _acknowledgement(self, queue: int, handles: Sequence[str]) -> bytes:
        return self._requests.of_values("DeleteMessageBatch", **of_handles(self._urls[queue], handles))

    def _return(self, queue: int, handles: Sequence[str]) -> bytes:
        values = of_handles(self._urls[queue], handles, VisibilityTimeout=0)
        return self._requests.of_values("ChangeMessageVisibilityBatch", **values)

    def _messages(self, queue: int, answer: HttpAnswer) -> list[PolledMessage] | None:
        if answer.status != 200:
            said = refusal(answer)
            kind = said.partition(":")[0]
            if answer.status < 500 and ERRORS.of(kind) == REJECTED and not is_too_many(kind):
                raise BrokerError(f"the queue {self._urls[queue].rpartition('/')[2]} cannot be read: {said}")
            return None
        try:
            return messages_in(answer)
        except UnreadableAnswerError:
            return None

    def _waiting(self) -> int:
        with HttpLink.session(self._endpoint) as link:
            return sum(waiting(link, self._requests, url) for url in self._urls)
