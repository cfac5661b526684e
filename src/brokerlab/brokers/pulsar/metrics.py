"""What is watched of Pulsar, its bookies and ZooKeeper: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.brokers.kit.lag import lag_rows
from brokerlab.model.watched import Field, Sample, WatchedMetric
from brokerlab.model.watched_here import JVM as JVM_ROWS

SYNC_COUNT = "bookie_journal_JOURNAL_SYNC_count"
_GOOD = 'success="true"'


def _rows(*told: tuple[str, str, str, str] | tuple[str, str, str, str, str]) -> tuple[WatchedMetric, ...]:
    """Name on the page, metric, unit, meaning; labels."""
    return tuple(WatchedMetric(t[1], t[2], Sample(t[0], t[4] if len(t) > 4 else ""), t[3]) for t in told)


JVM = (
    JVM_ROWS["heap_used_bytes"].read_from(Sample("jvm_memory_bytes_used", 'area="heap"')),
    JVM_ROWS["heap_committed_bytes"].read_from(Sample("jvm_memory_bytes_committed", 'area="heap"')),
    WatchedMetric("direct_used_bytes", "B", Sample("jvm_memory_direct_bytes_used"), "direct memory in use", "jvm"),
    JVM_ROWS["threads"].read_from(Sample("jvm_threads_current")),
    JVM_ROWS["gc_count_total"].read_from(Sample("jvm_gc_collection_seconds_count")),
    JVM_ROWS["gc_time_seconds_total"].read_from(Sample("jvm_gc_collection_seconds_sum")),
    JVM_ROWS["cpu_seconds_total"].read_from(Sample("process_cpu_seconds_total")),
)
BROKER = _rows(
    ("pulsar_in_messages_total", "messages_in_total", "1", "messages taken in"),
    ("pulsar_out_messages_total", "messages_out_total", "1", "messages delivered"),
    ("pulsar_in_bytes_total", "bytes_in_total", "B", "bytes taken in"),
    ("pulsar_out_bytes_total", "bytes_out_total", "B", "bytes delivered"),
    ("pulsar_broker_rate_in", "messages_in_rate", "1/s", "messages a second, the broker's own estimate"),
    ("pulsar_broker_rate_out", "messages_out_rate", "1/s", "deliveries a second, the broker's own estimate"),
    ("pulsar_broker_throughput_in", "bytes_in_rate", "B/s", "bytes a second in, the broker's own estimate"),
    ("pulsar_broker_throughput_out", "bytes_out_rate", "B/s", "bytes a second out, the broker's own estimate"),
    ("pulsar_broker_msg_backlog", "backlog_entries", "1", "entries that subscriptions have not acknowledged"),
    ("pulsar_broker_topics_count", "topics", "1", "topics"),
    ("pulsar_broker_producers_count", "producers", "1", "producers"),
    ("pulsar_broker_consumers_count", "consumers", "1", "consumers"),
    ("pulsar_broker_storage_size", "storage_bytes", "B", "bytes stored"),
)
BOOKIE = _rows(
    (SYNC_COUNT, "journal_syncs_total", "1", "fsyncs of the journal", _GOOD),
    ("bookie_journal_JOURNAL_ADD_ENTRY_count", "journal_adds_total", "1", "entries written to the journal", _GOOD),
    ("bookkeeper_server_ADD_ENTRY_count", "adds_total", "1", "entries added", _GOOD),
    ("bookkeeper_server_ADD_ENTRY", "add_p99_ms", "ms", "99th percentile of adding an entry", f'{_GOOD},quantile="0.99"'),
    ("bookie_WRITE_BYTES", "written_bytes_total", "B", "bytes written"),
)  # fmt: skip
_MNTR = (  # field of mntr, metric, unit, meaning
    ("zk_znode_count", "znodes", "1", "nodes of ZooKeeper's tree"),
    ("zk_num_alive_connections", "connections", "1", "open connections"),
    ("zk_outstanding_requests", "outstanding_requests", "1", "requests that wait"),
    ("zk_avg_latency", "latency_mean_ms", "ms", "mean time of a request since the start"),
    ("zk_packets_received", "packets_received_total", "1", "packets received"),
    ("zk_packets_sent", "packets_sent_total", "1", "packets sent"),
)
ZOOKEEPER = tuple(WatchedMetric(metric, unit, Field(name, "mntr"), meaning) for name, metric, unit, meaning in _MNTR)
LAG = lag_rows(
    taken_in="statistics of a topic: msgInCounter of all partitions, added up",
    behind_in_entries="statistics of a topic: msgBacklog of a subscription",
)
METRICS = (*JVM, *BROKER, *BOOKIE, *ZOOKEEPER, *LAG)
