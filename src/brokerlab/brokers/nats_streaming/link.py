"""A connection to NATS Streaming: a client of NATS that has introduced itself to the streaming server behind it."""

from __future__ import annotations

import time
import uuid

from brokerlab.brokers.kit.link import RefusedError
from brokerlab.brokers.kit.names import plain_name
from brokerlab.brokers.kit.protobuf import field
from brokerlab.brokers.kit.subject_frames import Delivered
from brokerlab.brokers.kit.subject_link import SubjectLink, new_inbox
from brokerlab.brokers.nats_streaming import messages
from brokerlab.model.plan import Endpoint

PATH = "python (NATS Streaming protocol)"
_JOIN_S = 10.0


def channel_name(destination: str, partition: int) -> str:
    return f"{plain_name(destination)}.{partition}"


def client_name(name: str) -> str:
    """One that no other client has: the server takes the second of two for the first come back."""
    return f"{plain_name(name)}-{uuid.uuid4().hex[:12]}"


class StreamingLink(SubjectLink):
    """See kit.link.Link; usable after `join`."""

    listener = "NATS Streaming"
    client = ""
    subjects: messages.Subjects

    def join(self, endpoint: Endpoint, client: str) -> bytes:
        """Introduce ourselves. A client that was lost and comes back under its name takes its own place. Returns the
        connection's number, which messages carry. Raises RefusedError."""
        heartbeats, connection = new_inbox() + b"h", uuid.uuid4().bytes
        self.subscribe(heartbeats, self._on_heartbeats)
        request = messages.connect_request(client, heartbeats, connection)
        cluster = endpoint.options.get("cluster_id", "test-cluster")  # the product's default
        answer = self.call(f"_STAN.discover.{cluster}".encode(), request, _JOIN_S)
        subjects, refusal = messages.connect_response(answer)
        if refusal:
            raise RefusedError(refusal, -1)
        self.subjects, self.client = subjects, client
        return connection

    def subscribe_stream(self, request: bytes) -> bytes:
        """Returns where acknowledgements go. Raises RefusedError."""
        inbox, refusal = messages.subscription_response(self.call(self.subjects.subscribe, request, _JOIN_S))
        if refusal or not inbox:
            raise RefusedError(refusal or "no subject for acknowledgements", -1)
        return inbox

    def _on_heartbeats(self, asked: list[Delivered]) -> None:
        for one in asked:
            self.publish(one.reply, b"")

    def _say_goodbye(self, until: float) -> None:
        """The server ends the client's subscriptions, and gives what it held to others."""
        if self.client:
            self._handlers = {1: self._handlers[1]}  # nothing but answers is of interest any more
            self.call(self.subjects.close, field(1, self.client), until - time.monotonic())
