"""RabbitMQ's own figures, from each node's Prometheus address."""

from __future__ import annotations

import re
import urllib.request

from brokerlab.brokers.contract import NodeInfo, Reading

FIGURES = {  # name in RabbitMQ -> (metric, unit); several lines of one name are added up
    "rabbitmq_queue_messages_ready": ("messages_ready", "1"),
    "rabbitmq_queue_messages_unacked": ("messages_unacknowledged", "1"),
    "rabbitmq_global_messages_received_total": ("messages_received_total", "1"),
    "rabbitmq_global_messages_confirmed_total": ("messages_confirmed_total", "1"),
    "rabbitmq_global_messages_delivered_total": ("messages_delivered_total", "1"),
    "rabbitmq_global_messages_acknowledged_total": ("messages_acknowledged_total", "1"),
    "rabbitmq_global_messages_redelivered_total": ("messages_redelivered_total", "1"),
    "rabbitmq_connections": ("connections", "1"),
    "rabbitmq_process_resident_memory_bytes": ("memory_bytes", "B"),
    "rabbitmq_process_open_fds": ("open_files", "1"),
    "rabbitmq_disk_space_available_bytes": ("disk_available_bytes", "B"),
    "rabbitmq_alarms_memory_used_watermark": ("memory_alarm", "1"),
    "rabbitmq_alarms_free_disk_space_watermark": ("disk_alarm", "1"),
    "rabbitmq_raft_entry_commit_latency_seconds": ("raft_commit_latency", "s"),
    "erlang_vm_statistics_run_queues_length": ("erlang_run_queue", "1"),
    "erlang_vm_statistics_run_queues_length_total": ("erlang_run_queue", "1"),  # its name before Erlang 28's exporter
    "erlang_vm_process_count": ("erlang_processes", "1"),
}
_LINE = re.compile(r"^([a-z_0-9]+)(?:\{[^}]*\})? (\S+)", re.MULTILINE)


def figures(text: str) -> dict[str, float]:
    """The figures in a Prometheus page that we keep."""
    found: dict[str, float] = {}
    for name, value in _LINE.findall(text):
        if name in FIGURES and value not in ("NaN", "undefined"):
            found[name] = found.get(name, 0.0) + float(value)
    return found


class RabbitProbe:
    """See brokers.contract.BrokerProbe."""

    def __init__(self, nodes: tuple[NodeInfo, ...]) -> None:
        self._nodes = nodes

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            try:
                with urllib.request.urlopen(node.urls["prometheus"], timeout=1.0) as answer:
                    text = answer.read().decode("utf-8", "replace")
            except OSError:
                continue
            readings += [
                Reading(f"broker:{node.name}", FIGURES[name][0], value, FIGURES[name][1])
                for name, value in figures(text).items()
            ]
        return readings
