"""What is watched of Redpanda: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.brokers.kit.lag import BY_OFFSETS
from brokerlab.model.watched import Sample, WatchedMetric

_REQUESTS = "redpanda_kafka_request_bytes_total"
METRICS = (
    WatchedMetric("produced_bytes_total", "B", Sample(_REQUESTS, 'redpanda_request="produce"'), "bytes produced"),
    WatchedMetric("consumed_bytes_total", "B", Sample(_REQUESTS, 'redpanda_request="consume"'), "bytes consumed"),
    WatchedMetric(
        "under_replicated_replicas", "1", Sample("redpanda_kafka_under_replicated_replicas"), "replicas that are behind"
    ),
    WatchedMetric(
        "connections", "1", Sample("redpanda_rpc_active_connections", 'redpanda_server="kafka"'), "open connections"
    ),
    WatchedMetric("memory_bytes", "B", Sample("redpanda_memory_allocated_memory"), "memory allocated"),
    WatchedMetric("disk_free_bytes", "B", Sample("redpanda_storage_disk_free_bytes"), "free space of its disk"),
    WatchedMetric("cpu_busy_seconds_total", "s", Sample("redpanda_cpu_busy_seconds_total"), "CPU time, all its cores"),
    *BY_OFFSETS,
)
