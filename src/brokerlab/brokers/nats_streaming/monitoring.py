"""What the servers' monitoring pages tell: channels, groups, who leads, and figures."""

from __future__ import annotations

import contextlib
from typing import Any

from brokerlab.brokers.kit.http_reader import MISREAD, read_json
from brokerlab.brokers.kit.names import belongs
from brokerlab.brokers.kit.probing import pages_probe
from brokerlab.brokers.kit.wire import option_list
from brokerlab.brokers.nats_streaming.metrics import METRICS
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint


class Monitoring:
    """Of the servers whose addresses the endpoint has. What is asked raises BrokerError where none answers."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._urls = option_list(endpoint, "monitoring")

    def servers(self) -> dict[str, dict[str, Any]]:
        """What each server that answers says of itself, by its address."""
        found: dict[str, dict[str, Any]] = {}
        for url in self._urls:
            with contextlib.suppress(OSError):
                found[url] = read_json(f"{url}/streaming/serverz") | read_json(f"{url}/streaming/storez")
        if self._urls and not found:
            raise BrokerError(f"no monitoring page answers at {', '.join(self._urls)}")
        return found

    def _leading(self) -> str | None:
        """The address of the server that knows all of the channels and groups."""
        servers = self.servers()
        leaders = [url for url, said in servers.items() if said.get("role", "Leader") == "Leader"]
        return next(iter(leaders or servers), None)

    def channels(self, destination: str) -> dict[str, dict[str, Any]]:
        """A destination's channels by name, without their subscriptions."""
        url = self._leading()
        if url is None:
            return {}
        try:
            names = read_json(f"{url}/streaming/channelsz?limit=100000").get("names") or []
            ours = [name for name in names if belongs(name, destination)]
            return {name: read_json(f"{url}/streaming/channelsz?channel={name}") for name in ours}
        except OSError as e:
            raise BrokerError(f"the monitoring pages cannot be read: {e}") from e

    def every_channel(self, most: int) -> tuple[list[dict[str, Any]], int]:
        """So many channels at most, with their subscriptions, and how many there are. None where no address is known."""
        url = self._leading()
        if url is None:
            return [], 0
        try:
            page = read_json(f"{url}/streaming/channelsz?subs=1&limit={most}")
            return list(page.get("channels") or ()), int(page.get("total", 0))
        except (OSError, *MISREAD) as e:
            raise BrokerError(f"the monitoring pages cannot be read: {e}") from e

    def waiting(self, channels: list[str], queue: str) -> int | None:
        """Messages that a group has not acknowledged; None where the server does not tell."""
        with contextlib.suppress(BrokerError, OSError, *MISREAD):
            url = self._leading()
            if url is not None:
                pages = (f"{url}/streaming/channelsz?channel={name}&subs=1" for name in channels)
                return sum(_left(read_json(page), queue) for page in pages)
        return None


def _left(channel: dict[str, Any], queue: str) -> int:
    own = [s for s in channel.get("subscriptions") or [] if str(s.get("queue_name", "")).rpartition(":")[2] == queue]
    return behind(channel, own)


def behind(channel: dict[str, Any], members: list[dict[str, Any]]) -> int:
    """Messages that a group of these subscriptions has not acknowledged. Each member knows the last message that it was sent;
    the latest of these is the group's."""
    sent = max((int(s["last_sent"]) for s in members), default=0)
    return int(channel["last_seq"]) - sent + sum(int(s["pending_count"]) for s in members)


probe = pages_probe("monitoring", METRICS)
