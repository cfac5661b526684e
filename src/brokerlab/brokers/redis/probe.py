"""The servers' own figures, from INFO."""

from __future__ import annotations

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.probing import readings_of
from brokerlab.brokers.redis.connection import Connection
from brokerlab.brokers.redis.entries import parse_info
from brokerlab.brokers.redis.metrics import METRICS
from brokerlab.errors import BrokerlabError
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import fields_of


class RedisProbe:
    """See brokers.contract.BrokerProbe. Keeps a connection to each node; a lost one is made again."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:
        self._security = endpoint.security
        self._nodes = nodes
        self._connections: dict[str, Connection] = {}

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            try:
                values = parse_info(self._info(node))
            except (BrokerlabError, OSError):
                lost = self._connections.pop(node.name, None)
                if lost is not None:
                    lost.close()
                continue
            readings += readings_of(f"broker:{node.name}", values, fields_of(METRICS))
        return readings

    def _info(self, node: NodeInfo) -> object:
        connection = self._connections.get(node.name)
        if connection is None:
            connection = Connection(node.urls["redis"], self._security, "brokerlab-probe", 1.0)
            self._connections[node.name] = connection
        return connection.call("INFO", "everything", seconds=1.0)

    def __del__(self) -> None:
        for connection in self._connections.values():
            connection.close()
