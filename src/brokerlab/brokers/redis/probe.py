"""The servers' own figures, from INFO."""

from __future__ import annotations

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.probing import readings_of
from brokerlab.brokers.redis.connection import Connection
from brokerlab.brokers.redis.entries import parse_info
from brokerlab.errors import BrokerlabError
from brokerlab.model.plan import Endpoint

_FIELDS = {  # of INFO -> (metric, unit)
    "instantaneous_ops_per_sec": ("operations_per_s", "1/s"),
    "total_commands_processed": ("commands_total", "1"),
    "total_net_input_bytes": ("in_bytes_total", "B"),
    "total_net_output_bytes": ("out_bytes_total", "B"),
    "connected_clients": ("connections", "1"),
    "blocked_clients": ("blocked_clients", "1"),
    "used_memory": ("memory_bytes", "B"),
    "used_memory_rss": ("memory_rss_bytes", "B"),
    "mem_fragmentation_ratio": ("memory_fragmentation_ratio", "1"),
    "evicted_keys": ("evicted_keys_total", "1"),
    "aof_current_size": ("aof_bytes", "B"),
    "aof_delayed_fsync": ("aof_delayed_fsync_total", "1"),
    "aof_pending_bio_fsync": ("aof_pending_fsyncs", "1"),
    "aof_rewrite_in_progress": ("aof_rewrite_in_progress", "1"),
    "latest_fork_usec": ("latest_fork_us", "us"),
    "connected_slaves": ("connected_replicas", "1"),
    "master_repl_offset": ("replication_offset_bytes", "B"),
    "slave_repl_offset": ("replica_offset_bytes", "B"),
    "used_cpu_user_main_thread": ("cpu_user_main_thread_s", "s"),
    "used_cpu_sys_main_thread": ("cpu_sys_main_thread_s", "s"),
}


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
            readings += readings_of(f"broker:{node.name}", values, _FIELDS)
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
