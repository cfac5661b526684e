"""Redpanda's own figures, from the public metrics of every node whose Admin API is known."""

from __future__ import annotations

import contextlib

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.probing import Figure, figures_in
from brokerlab.brokers.redpanda.api import AdminApi
from brokerlab.model.plan import Endpoint

FIGURES = (
    Figure("redpanda_kafka_request_bytes_total", "produced_bytes_total", "B", 'redpanda_request="produce"'),
    Figure("redpanda_kafka_request_bytes_total", "consumed_bytes_total", "B", 'redpanda_request="consume"'),
    Figure("redpanda_kafka_under_replicated_replicas", "under_replicated_replicas", "1"),
    Figure("redpanda_rpc_active_connections", "connections", "1", 'redpanda_server="kafka"'),
    Figure("redpanda_memory_allocated_memory", "memory_bytes", "B"),
    Figure("redpanda_storage_disk_free_bytes", "disk_free_bytes", "B"),
    Figure("redpanda_cpu_busy_seconds_total", "cpu_busy_seconds_total", "s"),
)


class RedpandaProbe:
    """See brokers.contract.BrokerProbe. Nodes are known by the addresses of their Admin API: none is started here."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:  # noqa: ARG002
        self._api = AdminApi(endpoint)

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for address in self._api.addresses:
            with contextlib.suppress(OSError):
                found = figures_in(self._api.page(address, "/public_metrics", 1.0), FIGURES)
                subject = f"broker:{address.rpartition('/')[2]}"
                readings += [Reading(subject, figure.metric, value, figure.unit) for figure, value in found.items()]
        return readings
