"""What is watched of RabbitMQ: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.brokers.kit.lag import lag_rows
from brokerlab.model.watched import Sample, WatchedMetric

_PAGE = (  # name on the page, metric, unit, meaning
    ("rabbitmq_queue_messages_ready", "messages_ready", "1", "messages ready to be delivered, all queues"),
    ("rabbitmq_queue_messages_unacked", "messages_unacknowledged", "1", "messages delivered and not acknowledged"),
    ("rabbitmq_global_messages_received_total", "messages_received_total", "1", "messages from producers"),
    ("rabbitmq_global_messages_confirmed_total", "messages_confirmed_total", "1", "messages confirmed to producers"),
    ("rabbitmq_global_messages_delivered_total", "messages_delivered_total", "1", "messages delivered"),
    ("rabbitmq_global_messages_acknowledged_total", "messages_acknowledged_total", "1", "messages acknowledged by consumers"),
    ("rabbitmq_global_messages_redelivered_total", "messages_redelivered_total", "1", "messages delivered again"),
    ("rabbitmq_connections", "connections", "1", "open connections"),
    ("rabbitmq_process_resident_memory_bytes", "memory_bytes", "B", "resident memory"),
    ("rabbitmq_process_open_fds", "open_files", "1", "open files"),
    ("rabbitmq_disk_space_available_bytes", "disk_available_bytes", "B", "free space as the server sees it"),
    ("rabbitmq_alarms_memory_used_watermark", "memory_alarm", "1", "1 while the memory alarm blocks producers"),
    ("rabbitmq_alarms_free_disk_space_watermark", "disk_alarm", "1", "1 while the disk alarm blocks producers"),
    ("rabbitmq_raft_entry_commit_latency_seconds", "raft_commit_latency", "s", "time from an entry to its commit, quorum queues"),
    ("erlang_vm_statistics_run_queues_length", "erlang_run_queue", "1", "Erlang processes ready to run"),
    # Its name before Erlang 28's exporter:
    ("erlang_vm_statistics_run_queues_length_total", "erlang_run_queue", "1", "Erlang processes ready to run"),
    ("erlang_vm_process_count", "erlang_processes", "1", "Erlang processes"),
)  # fmt: skip
LAG = lag_rows(
    taken_in="/metrics/detailed: queue_exchange_messages_published_total of a queue; none of streams",
    held="/metrics/detailed: queue_messages_ready and queue_messages_unacked of a queue, added up",
    behind="the same, of the queue that is the group; none of streams",
)
METRICS = (*(WatchedMetric(metric, unit, Sample(name), meaning) for name, metric, unit, meaning in _PAGE), *LAG)
