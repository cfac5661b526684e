"""NATS's own figures, from its monitoring addresses."""

from __future__ import annotations

import contextlib

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import read_json
from brokerlab.brokers.kit.probing import readings_of
from brokerlab.model.plan import Endpoint

_SERVER = {  # field of /varz -> (metric, unit)
    "cpu": ("cpu_percent", "%"),
    "mem": ("memory_bytes", "B"),
    "connections": ("connections", "1"),
    "subscriptions": ("subscriptions", "1"),
    "slow_consumers": ("slow_consumers_total", "1"),
    "in_msgs": ("in_msgs_total", "1"),
    "out_msgs": ("out_msgs_total", "1"),
    "in_bytes": ("in_bytes_total", "B"),
    "out_bytes": ("out_bytes_total", "B"),
}
_JETSTREAM = {  # field of /jsz -> (metric, unit)
    "storage": ("jetstream_storage_bytes", "B"),
    "memory": ("jetstream_memory_bytes", "B"),
    "messages": ("jetstream_messages", "1"),
    "bytes": ("jetstream_bytes", "B"),
    "streams": ("jetstream_streams", "1"),
    "consumers": ("jetstream_consumers", "1"),
}


class NatsProbe:
    """See brokers.contract.BrokerProbe."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:  # noqa: ARG002 - figures need no login
        self._nodes = nodes

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            for page, known in (("varz", _SERVER), ("jsz", _JETSTREAM)):
                with contextlib.suppress(OSError):
                    values = read_json(f"{node.urls['monitoring']}/{page}", 1.0)
                    readings += readings_of(f"broker:{node.name}", values, known)
        return readings
