"""NATS's own figures, from its monitoring addresses."""

from __future__ import annotations

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.probing import PagesProbe
from brokerlab.brokers.nats.metrics import METRICS
from brokerlab.model.plan import Endpoint


class NatsProbe(PagesProbe):
    """See brokers.contract.BrokerProbe."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:  # noqa: ARG002 - figures need no login
        super().__init__(nodes, "monitoring", METRICS)
