"""What can be asked of the server besides messages."""

from __future__ import annotations

from typing import Any

from brokerlab.brokers.contract import ComputedDurability
from brokerlab.brokers.memory.connection import ask
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Durability, Endpoint


class MemoryAdmin:
    """See brokers.contract.Admin. Each request has a connection of its own."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:  # noqa: ARG002 - nothing in a cell changes how it is asked
        self._endpoint = endpoint

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        self._ask({"do": "create", "destinations": destinations, "partitions": partitions, "groups": groups})

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:
        self._ask({"do": "delete", "destinations": destinations, "groups": groups})

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        answer = self._ask({"do": "describe", "destinations": destinations})
        return {"server": answer["server"], **answer["destinations"]}

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        server = self.effective_settings(destinations)["server"]
        because = {name: server[name] for name in ("storage", "replicas", "fsync")}
        if because != {"storage": "memory", "replicas": "1", "fsync": "never"}:
            raise BrokerError(f"a server of another kind: {because}")
        return ComputedDurability(Durability.L4, because)

    def _ask(self, request: dict[str, object]) -> dict[str, Any]:
        try:
            return ask(self._endpoint, request)
        except OSError as e:
            raise BrokerError(f"{self._endpoint.addresses[0]} does not answer: {e}") from e

    def close(self) -> None:
        """Nothing is held between requests."""
