"""Publishing: a PubMsg for each message."""

from __future__ import annotations

from brokerlab.brokers.kit.names import of_partitions
from brokerlab.brokers.kit.protobuf import UnreadableMessageError
from brokerlab.brokers.kit.subject_drivers import SubjectProducer
from brokerlab.brokers.nats_streaming.link import PATH, StreamingLink, channel_name, client_name
from brokerlab.brokers.nats_streaming.messages import publish_body, publish_error, publish_head
from brokerlab.brokers.nats_streaming.settings import client_settings
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN
from brokerlab.model.plan import AgentPlan

# What a server says before it stores anything. All else may have failed on the way to the disk or to other nodes.
REFUSALS = ("stan: invalid publish request", "stan: invalid subject", "too many channels", "channel is being deleted")
_NUMBERS_BYTES = 60  # of a frame, at most


class StreamingProducer(SubjectProducer[StreamingLink]):
    """See brokers.contract.Producer."""

    link_class = StreamingLink
    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        super().__init__(plan, number, client_settings(plan.client_settings)["pending_bytes"])
        self._client = client_name(self._name)
        self._channels = of_partitions(channel_name, plan.destinations, plan.partitions)
        self._start(otherwise="no messages can be sent")

    def _introduce(self, link: StreamingLink, inbox: bytes) -> int:
        connection = link.join(self._endpoint, self._client)
        self._heads = [publish_head(self._client, connection, channel) for channel in self._channels]
        self._lines = [b"PUB %b.%b %b" % (link.subjects.publish, c.encode(), inbox) for c in self._channels]
        return _NUMBERS_BYTES + max(map(len, self._heads)) + max(map(len, self._lines))

    def _frame(self, partition: int, number: int, payload: bytes) -> bytes:
        body = publish_body(self._heads[partition], number, payload)
        return b"%b%d %d\r\n%b\r\n" % (self._lines[partition], number, len(body), body)

    def _said(self, payload: bytes) -> tuple[int, str]:
        return outcome_of(payload)


def outcome_of(answer: bytes) -> tuple[int, str]:
    """What a PubAck means and, where it is not acknowledged, the kind of the error: the one place."""
    try:
        error = publish_error(answer)
    except UnreadableMessageError:
        return UNKNOWN, "unreadable answer"
    if not error:
        return ACKNOWLEDGED, ""
    return (REJECTED if error.startswith(REFUSALS) else UNKNOWN), error
