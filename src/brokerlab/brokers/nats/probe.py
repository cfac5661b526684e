"""NATS's own figures, from its monitoring addresses."""

from __future__ import annotations

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.probing import PagesProbe
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


class NatsProbe(PagesProbe):
    """See brokers.contract.BrokerProbe."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:  # noqa: ARG002 - figures need no login
        super().__init__(nodes, "monitoring", {"varz": _SERVER, "jsz": _JETSTREAM})
