"""Channels, and the durability that follows from what the servers report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.kit.http_reader import as_text
from brokerlab.brokers.kit.names import plain_name
from brokerlab.brokers.kit.subject_link import new_inbox
from brokerlab.brokers.nats_streaming.link import StreamingLink, channel_name, client_name
from brokerlab.brokers.nats_streaming.messages import keeping_request
from brokerlab.brokers.nats_streaming.monitoring import Monitoring
from brokerlab.brokers.nats_streaming.settings import durability_of
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint

_SERVER_FACTS = ("version", "state", "role", "type", "limits")


class StreamingAdmin:
    """See brokers.contract.Admin. Connects for each request.

    No request makes or deletes a channel: one exists from its first subscription on, until it has had none for
    `max_inactivity`. So a client is introduced that subscribes and leaves without a goodbye: it keeps the channels of a
    destination until `delete` comes in its place and says it.
    """

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:  # noqa: ARG002 - levels are the server's
        self._endpoint = endpoint
        self._monitoring = Monitoring(endpoint)

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:  # noqa: ARG002 - groups begin with the first message
        for destination in destinations:
            with self._in_place_of_keeper(destination) as link:
                for channel in (channel_name(destination, p) for p in range(partitions)):
                    link.subscribe_stream(keeping_request(link.client, channel, new_inbox() + b"k"))
                link.abandon()

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002 - end with their channels
        for destination in destinations:
            with self._in_place_of_keeper(destination):
                pass  # and says goodbye
        if any(not said["limits"].get("max_inactivity") for said in self._monitoring.servers().values()):
            hint = "start it with max_inactivity in store_limits, or delete its data while it is stopped"
            raise BrokerError("this server never deletes a channel", hint=hint)

    @contextmanager
    def _in_place_of_keeper(self, destination: str) -> Iterator[StreamingLink]:
        with StreamingLink.session(self._endpoint) as link:
            link.join(self._endpoint, f"keeps-{plain_name(destination)}")
            yield link

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for said in self._monitoring.servers().values():
            found[f"server:{said['server_id']}"] = {n: as_text(said[n]) for n in _SERVER_FACTS if n in said}
        for destination in destinations:
            for name, channel in self._monitoring.channels(plain_name(destination)).items():
                found[f"channel:{name}"] = {key: as_text(value) for key, value in channel.items()}
        return found

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:  # noqa: ARG002 - the same for all channels
        with StreamingLink.session(self._endpoint) as link:
            link.join(self._endpoint, client_name("admin"))
            servers = self._monitoring.servers().values()
        stores = {str(said.get("type", "unknown")).lower() for said in servers} or {"unknown"}
        return durability_of(sum(said.get("state") == "CLUSTERED" for said in servers), ", ".join(sorted(stores)))

    def close(self) -> None:
        """Nothing stays open between requests."""
