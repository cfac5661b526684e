"""RabbitMQ's own figures, from each node's Prometheus address."""

from __future__ import annotations

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import read_text
from brokerlab.brokers.kit.probing import figures_in
from brokerlab.brokers.rabbitmq.metrics import METRICS
from brokerlab.model.plan import Endpoint


class RabbitProbe:
    """See brokers.contract.BrokerProbe."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:  # noqa: ARG002 - figures need no login
        self._nodes = nodes

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            try:
                found = figures_in(read_text(node.urls["prometheus"], 1.0), METRICS)
            except OSError:
                continue
            readings += [Reading.of(row, f"broker:{node.name}", value) for row, value in found.items()]
        return readings
