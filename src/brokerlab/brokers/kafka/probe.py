"""Kafka's own figures, through the Jolokia agent inside each JVM: one request per node and second, reading only."""

from __future__ import annotations

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kafka.metrics import METRICS
from brokerlab.brokers.kit.jolokia import JolokiaProbe
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import beans_of

READABLE = beans_of(METRICS)  # also all that the agent's policy lets anyone read


def probe(_endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> JolokiaProbe:
    """Without a login: the agent can only be read, and only from here."""
    return JolokiaProbe(None, nodes, METRICS)
