"""Persistent subscriptions, streams, and the durability that follows from the server's options."""

from __future__ import annotations

import contextlib

from kurrentdbclient import StreamState
from kurrentdbclient.exceptions import NotFoundError

from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.eventstore.api import HttpApi
from brokerlab.brokers.eventstore.connection import REFUSALS, connect, stream_of
from brokerlab.brokers.eventstore.consumer import ensure_subscription
from brokerlab.brokers.eventstore.settings import durability_of
from brokerlab.brokers.kit.names import of_partitions
from brokerlab.model.plan import CellPlan, Endpoint


class EventstoreAdmin:
    """See brokers.contract.Admin. A stream exists from its first event or subscription on."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        self._endpoint, self._cell = endpoint, cell
        self._api = HttpApi(endpoint)
        self._client = connect(endpoint, "brokerlab-admin")
        self._made: set[str] = set()  # streams, of which the server may know nothing yet

    def _streams(self, destinations: tuple[str, ...]) -> list[str]:
        return of_partitions(stream_of, destinations, self._cell.partitions)

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        with REFUSALS.at(self._endpoint):
            for stream in of_partitions(stream_of, destinations, partitions):
                self._made.add(stream)
                for group in groups:
                    ensure_subscription(self._client, group, stream, self._cell.broker_settings)

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002
        """Every subscription of the streams, whoever made it: a stream that is deleted would leave it without one."""
        with REFUSALS.at(self._endpoint):
            for stream in self._streams(destinations):
                self._made.discard(stream)
                for group in self._groups(stream):
                    with contextlib.suppress(NotFoundError):
                        self._client.delete_subscription(group, stream)
                with contextlib.suppress(NotFoundError):
                    if not isinstance(self._client.get_current_version(stream), StreamState):
                        self._client.delete_stream(stream, current_version=StreamState.ANY)

    def _groups(self, stream: str) -> list[str]:
        with contextlib.suppress(NotFoundError):
            return [one.group_name for one in self._client.list_subscriptions_to_stream(stream)]
        return []

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        found = {"server": self._api.info(), "options": self._api.options()}
        with REFUSALS.at(self._endpoint):
            for stream in self._streams(destinations):
                last, groups = self._client.get_current_version(stream), self._groups(stream)
                if groups or stream in self._made or not isinstance(last, StreamState):
                    events = "0" if isinstance(last, StreamState) else str(last + 1)
                    found[f"stream:{stream}"] = {"events": events, "groups": ", ".join(groups)}
        return found

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:  # noqa: ARG002 - the same for all
        with REFUSALS.at(self._endpoint):
            members = len(self._client.read_gossip())
        return durability_of(self._api.options(), members)

    def close(self) -> None:
        self._client.close()
