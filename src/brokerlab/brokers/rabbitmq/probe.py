"""RabbitMQ's own figures, from each node's Prometheus address."""

from __future__ import annotations

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import read_text
from brokerlab.brokers.kit.probing import Figure, figures_in
from brokerlab.model.plan import Endpoint

FIGURES = (
    Figure("rabbitmq_queue_messages_ready", "messages_ready", "1"),
    Figure("rabbitmq_queue_messages_unacked", "messages_unacknowledged", "1"),
    Figure("rabbitmq_global_messages_received_total", "messages_received_total", "1"),
    Figure("rabbitmq_global_messages_confirmed_total", "messages_confirmed_total", "1"),
    Figure("rabbitmq_global_messages_delivered_total", "messages_delivered_total", "1"),
    Figure("rabbitmq_global_messages_acknowledged_total", "messages_acknowledged_total", "1"),
    Figure("rabbitmq_global_messages_redelivered_total", "messages_redelivered_total", "1"),
    Figure("rabbitmq_connections", "connections", "1"),
    Figure("rabbitmq_process_resident_memory_bytes", "memory_bytes", "B"),
    Figure("rabbitmq_process_open_fds", "open_files", "1"),
    Figure("rabbitmq_disk_space_available_bytes", "disk_available_bytes", "B"),
    Figure("rabbitmq_alarms_memory_used_watermark", "memory_alarm", "1"),
    Figure("rabbitmq_alarms_free_disk_space_watermark", "disk_alarm", "1"),
    Figure("rabbitmq_raft_entry_commit_latency_seconds", "raft_commit_latency", "s"),
    Figure("erlang_vm_statistics_run_queues_length", "erlang_run_queue", "1"),
    Figure(
        "erlang_vm_statistics_run_queues_length_total", "erlang_run_queue", "1"
    ),  # its name before Erlang 28's exporter
    Figure("erlang_vm_process_count", "erlang_processes", "1"),
)


class RabbitProbe:
    """See brokers.contract.BrokerProbe."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> None:  # noqa: ARG002 - figures need no login
        self._nodes = nodes

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for node in self._nodes:
            try:
                found = figures_in(read_text(node.urls["prometheus"], 1.0), FIGURES)
            except OSError:
                continue
            readings += [Reading(f"broker:{node.name}", f.metric, value, f.unit) for f, value in found.items()]
        return readings
