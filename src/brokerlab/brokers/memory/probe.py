"""The server's own figures."""

from __future__ import annotations

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.probing import readings_of
from brokerlab.brokers.memory.connection import ask
from brokerlab.brokers.memory.metrics import METRICS
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import fields_of


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
            readings += readings_of(f"broker:{node.name}", answer, fields_of(METRICS))
        return readings
