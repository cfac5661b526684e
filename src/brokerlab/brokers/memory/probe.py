"""The server's own figures."""

from __future__ import annotations

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.probing import readings_of
from brokerlab.brokers.memory.connection import ask
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

_UNITS = {
    "connections": "1",
    "in_messages_total": "1",
    "out_messages_total": "1",
    "in_bytes_total": "B",
    "out_bytes_total": "B",
    "held_messages": "1",
    "held_bytes": "B",
}


class MemoryProbe:
    """See brokers.contract.BrokerProbe."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:  # noqa: ARG002 - no login
        self._nodes = nodes

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            try:
                answer = ask(Endpoint(addresses=(node.urls["control"],)), {"do": "statistics"})
            except (OSError, BrokerError):
                continue
            known = {name: (name, unit) for name, unit in _UNITS.items()}
            readings += readings_of(f"broker:{node.name}", answer, known)
        return readings
