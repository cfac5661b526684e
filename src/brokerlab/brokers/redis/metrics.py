"""What is watched of Redis and Valkey: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.brokers.kit.lag import lag_rows
from brokerlab.model.watched import Field, WatchedMetric

_INFO = (  # field of INFO, metric, unit, meaning
    ("instantaneous_ops_per_sec", "operations_per_s", "1/s", "commands a second, the server's own estimate"),
    ("total_commands_processed", "commands_total", "1", "commands carried out"),
    ("total_net_input_bytes", "in_bytes_total", "B", "bytes received"),
    ("total_net_output_bytes", "out_bytes_total", "B", "bytes sent"),
    ("connected_clients", "connections", "1", "open connections"),
    ("blocked_clients", "blocked_clients", "1", "clients that wait in a blocking command"),
    ("used_memory", "memory_bytes", "B", "memory allocated"),
    ("used_memory_rss", "memory_rss_bytes", "B", "resident memory"),
    ("mem_fragmentation_ratio", "memory_fragmentation_ratio", "1", "resident / allocated memory"),
    ("evicted_keys", "evicted_keys_total", "1", "keys thrown out for want of memory"),
    ("aof_current_size", "aof_bytes", "B", "length of the append-only file"),
    ("aof_delayed_fsync", "aof_delayed_fsync_total", "1", "fsyncs of the append-only file that were late"),
    ("aof_pending_bio_fsync", "aof_pending_fsyncs", "1", "fsyncs that wait in the background"),
    ("aof_rewrite_in_progress", "aof_rewrite_in_progress", "1", "1 while the append-only file is written again"),
    ("latest_fork_usec", "latest_fork_us", "us", "how long the last fork took"),
    ("connected_slaves", "connected_replicas", "1", "replicas connected"),
    ("master_repl_offset", "replication_offset_bytes", "B", "position of the primary's stream"),
    ("slave_repl_offset", "replica_offset_bytes", "B", "position of the replica in it"),
    ("used_cpu_user_main_thread", "cpu_user_main_thread_s", "s", "user CPU time of the main thread"),
    ("used_cpu_sys_main_thread", "cpu_sys_main_thread_s", "s", "system CPU time of the main thread"),
)
LAG = lag_rows(
    taken_in="XINFO STREAM: entries-added",
    held="XINFO STREAM: length",
    behind="XINFO GROUPS: lag and pending, added up",
)
METRICS = (*(WatchedMetric(metric, unit, Field(name), meaning) for name, metric, unit, meaning in _INFO), *LAG)
