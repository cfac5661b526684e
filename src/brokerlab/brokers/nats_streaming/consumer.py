"""Receiving: a durable queue subscription to every channel."""

from __future__ import annotations

from brokerlab.brokers.kit.names import of_partitions, plain_name
from brokerlab.brokers.kit.protobuf import message
from brokerlab.brokers.kit.subject_drivers import Pushed, PushedChunk, PushedConsumer
from brokerlab.brokers.kit.subject_frames import publish
from brokerlab.brokers.nats_streaming.link import PATH, StreamingLink, channel_name, client_name
from brokerlab.brokers.nats_streaming.messages import received, subscription_request
from brokerlab.brokers.nats_streaming.monitoring import Monitoring
from brokerlab.brokers.nats_streaming.settings import client_settings
from brokerlab.model.plan import AgentPlan


class StreamingConsumer(PushedConsumer[StreamingLink]):
    """See brokers.contract.Consumer."""

    link_class = StreamingLink
    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        super().__init__(plan, number)
        self._client = client_name(self._name)
        self._queue = plain_name(self._group)
        self._channels = of_partitions(channel_name, plan.destinations, plan.partitions)
        self._settings = client_settings(plan.client_settings)
        self._ack_inboxes = [b""] * len(self._channels)
        self._monitoring = Monitoring(plan.endpoint)
        self._start_reading()

    def _begin(self, link: StreamingLink) -> None:
        link.join(self._endpoint, self._client)
        limits = self._settings["max_in_flight"], self._settings["ack_wait_s"]
        for number, channel in enumerate(self._channels):
            inbox = self._listen(link, number)
            request = subscription_request(self._client, channel, self._queue, inbox, *limits)
            self._ack_inboxes[number] = link.subscribe_stream(request)

    def _message(self, payload: bytes) -> Pushed:
        return received(payload)

    def _acknowledgements(self, chunk: PushedChunk[StreamingLink]) -> bytes:
        """One for each message: the protocol has none for several."""
        inbox, channel = self._ack_inboxes[chunk.channel], self._channels[chunk.channel]
        return b"".join(publish(inbox, message([(1, channel), (2, m.position)])) for m in chunk.messages)

    def remaining(self) -> int | None:
        """What the server holds for the group; what was acknowledged as it came counts until it is handed out."""
        if self._link is not None:
            self._step()
        left = self._monitoring.waiting(self._channels, self._queue)
        return None if left is None else left + (self._held() if self._automatic else 0)
