"""What channels take in and how far their groups are behind, from the page /streaming/channelsz of the server that leads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.lag import MOST_DESTINATIONS, beyond_most, destination_readings, lag_reading
from brokerlab.brokers.nats_streaming.monitoring import Monitoring, behind
from brokerlab.model.plan import Endpoint


class StreamingLag:
    """See brokers.contract.WatchedByEndpoint. A channel is a destination of one partition; a group is a durable subscription,
    or one of a queue. Without the address of the monitoring nothing is known."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...], name: str) -> None:  # noqa: ARG002 - the endpoint says where
        self._name = name
        self._monitoring = Monitoring(endpoint)
        self._missing: dict[str, str] = {}

    def missing(self) -> dict[str, str]:
        """What the last reading lacks, and why."""
        return self._missing

    def read(self) -> list[Reading]:
        channels, total = self._monitoring.every_channel(MOST_DESTINATIONS)
        self._missing = beyond_most("channels") if total > len(channels) else {}
        return [reading for channel in channels for reading in self._of(channel)]

    def _of(self, channel: dict[str, Any]) -> Iterator[Reading]:
        name = channel["name"]
        yield from destination_readings(self._name, name, taken_in=channel["last_seq"], held=channel["msgs"])
        groups: dict[str, list[dict[str, Any]]] = {}
        for subscription in channel.get("subscriptions") or ():
            if group := _group(subscription):
                groups.setdefault(group, []).append(subscription)
        for group, members in groups.items():
            yield lag_reading(self._name, group, name, behind(channel, members))


def _group(subscription: dict[str, Any]) -> str:
    """A durable subscription without a queue belongs to one client. "" for one that ends with its client."""
    if subscription.get("queue_name"):
        return str(subscription["queue_name"])
    durable = subscription.get("durable_name")
    return f"{subscription.get('client_id', '')}:{durable}" if durable else ""
