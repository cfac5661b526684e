"""Redpanda's own figures, from the public metrics of every node whose Admin API is known."""

from __future__ import annotations

import contextlib

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.probing import page_readings
from brokerlab.brokers.redpanda.api import AdminApi
from brokerlab.brokers.redpanda.metrics import METRICS
from brokerlab.model.plan import Endpoint


class RedpandaProbe:
    """See brokers.contract.BrokerProbe. Nodes are known by the addresses of their Admin API: none is started here."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:  # noqa: ARG002
        self._api = AdminApi(endpoint)

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for address in self._api.addresses:
            with contextlib.suppress(OSError):
                page = self._api.page(address, "/public_metrics", 1.0)
                readings += page_readings(f"broker:{address.rpartition('/')[2]}", page, METRICS)
        return readings
