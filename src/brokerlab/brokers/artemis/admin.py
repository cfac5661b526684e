"""Addresses and their queues, and the durability that follows from what the brokers report."""

from __future__ import annotations

from brokerlab.brokers.artemis.beans import Beans, by_pair, pairs_of
from brokerlab.brokers.artemis.settings import DEFAULT_GROUP, QueueName, client_settings, durability_of
from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.kit.http_reader import as_text
from brokerlab.brokers.kit.stomp_link import StompLink
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint


class ArtemisAdmin:
    """See brokers.contract.Admin. Connects for each request: an idle connection would have to be kept alive."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        self._endpoint = endpoint
        self._clients = client_settings(cell.client_settings)
        self._pairs = [Beans(pair) for pair in pairs_of(endpoint)]

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        """Never an address without a queue: it would take messages and keep none."""
        members = groups or (DEFAULT_GROUP,)
        names = [QueueName(g, d, p) for d in destinations for p in range(partitions) for g in members]
        for pair, own in by_pair(self._endpoint, names):
            Beans(pair).make(own)

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002
        for destination in destinations:
            for pair in self._pairs:
                pair.remove(destination)

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {"clients": {"receipts": "one for each message", **self._clients}}
        for pair in self._pairs:
            active = pair.active()
            found[f"broker:{active.values['Name']}"] = {n: as_text(v) for n, v in active.values.items()}
            found[f"journal:{active.values['Name']}"] = active.journal()
            for queue in (q for d in destinations for q in pair.queues(d)):
                found[f"queue:{queue['Name']}"] = {n: as_text(v) for n, v in queue.items()}
        return found

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        """Of the weakest pair."""
        with StompLink.session(self._endpoint):
            for destination in destinations:
                self._check_kept(destination)
            actives = [pair.active() for pair in self._pairs]
        persistent = self._clients["persistent"]
        computed = [durability_of(a.journal(), persistent, "true" if a.replicated else "false") for a in actives]
        return max(computed, key=lambda one: one.level)

    def _check_kept(self, destination: str) -> None:
        """Raises BrokerError where the broker would acknowledge messages that it keeps nowhere."""
        kept = {q["Address"] for pair in self._pairs for q in pair.queues(destination) if q["Durable"]}
        lacking = {address for pair in self._pairs for address in pair.addresses(destination)} - kept
        if lacking or not kept:
            which = ", ".join(sorted(lacking)) or destination
            raise BrokerError(f"no durable queue keeps what is sent to {which}", hint="create the queues first")

    def close(self) -> None:
        """Nothing stays open between requests."""
