"""Virtual topics and their queues, and the durability that follows from what the broker reports."""

from __future__ import annotations

from brokerlab.brokers.activemq.beans import Beans
from brokerlab.brokers.activemq.settings import DEFAULT_GROUP, client_settings, durability_of, queue_name
from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.kit.http_reader import as_text
from brokerlab.brokers.kit.stomp_link import StompLink
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint

_NOT_KNOWN = "unknown; counted as never"


class ActiveAdmin:
    """See brokers.contract.Admin. Connects for each request: an idle connection would have to be kept alive."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        self._endpoint = endpoint
        self._clients = client_settings(cell.client_settings)
        self._beans = Beans(endpoint)

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        """A queue exists from its first subscription on, and stays."""
        numbers = range(partitions)
        names = [queue_name(g, d, p) for d in destinations for g in groups or (DEFAULT_GROUP,) for p in numbers]
        with StompLink.session(self._endpoint) as link:
            for name in names:
                link.call("SUBSCRIBE", {"id": "0", "destination": f"/queue/{name}", "ack": "client"})
                link.call("UNSUBSCRIBE", {"id": "0"})

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002
        for destination in destinations:
            self._beans.remove(destination)

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        queues = {f"queue:{name}": values for d in destinations for name, values in self._beans.of(d).items()}
        found = {"broker": self._beans.broker(), "store": self._beans.store(), **queues}
        reported = {subject: {n: as_text(v) for n, v in values.items()} for subject, values in found.items() if values}
        return {"clients": {"receipts": "one for each message", **self._clients}, **reported}

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        with StompLink.session(self._endpoint):
            if self._beans.known and not any(self._beans.of(d) for d in destinations):
                raise BrokerError(f"no queues of {', '.join(destinations)}", hint="create them first")
            stored = self._beans.broker().get("Persistent", True)
            strategy = self._beans.store().get("JournalDiskSyncStrategy", _NOT_KNOWN)
        return durability_of(strategy, self._clients["persistent"] if stored else "false: the broker stores nothing")

    def close(self) -> None:
        """Nothing stays open between requests."""
