"""RabbitMQ's own figures, from each node's Prometheus address."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.contract import Reading
from brokerlab.brokers.kit.http_reader import read_text
from brokerlab.brokers.kit.probing import NodeByNodeProbe, page_readings
from brokerlab.brokers.rabbitmq.metrics import METRICS


class RabbitProbe(NodeByNodeProbe):
    """See brokers.contract.BrokerProbe. Figures need no login."""

    def _of(self, subject: str, urls: Mapping[str, str]) -> list[Reading]:
        return page_readings(subject, read_text(urls["prometheus"], 1.0), METRICS)
