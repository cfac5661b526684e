"""What is watched of NATS: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.brokers.kit.lag import lag_rows
from brokerlab.model.watched import Field, WatchedMetric

_SERVER = (  # field of /varz, metric, unit, meaning
    ("cpu", "cpu_percent", "%", "CPU as the server sees it, of one processor"),
    ("mem", "memory_bytes", "B", "resident memory"),
    ("connections", "connections", "1", "open connections"),
    ("subscriptions", "subscriptions", "1", "subscriptions"),
    ("slow_consumers", "slow_consumers_total", "1", "clients cut off because they were too slow"),
    ("in_msgs", "in_msgs_total", "1", "messages taken in, the protocol's own included"),
    ("out_msgs", "out_msgs_total", "1", "messages delivered, the protocol's own included"),
    ("in_bytes", "in_bytes_total", "B", "bytes taken in"),
    ("out_bytes", "out_bytes_total", "B", "bytes delivered"),
)
_JETSTREAM = (  # field of /jsz, metric, unit, meaning
    ("storage", "jetstream_storage_bytes", "B", "bytes of streams on disk"),
    ("memory", "jetstream_memory_bytes", "B", "bytes of streams in memory"),
    ("messages", "jetstream_messages", "1", "messages in all streams"),
    ("bytes", "jetstream_bytes", "B", "bytes in all streams"),
    ("streams", "jetstream_streams", "1", "streams"),
    ("consumers", "jetstream_consumers", "1", "consumers of streams"),
)
LAG = lag_rows(
    taken_in="/jsz of every stream: last_seq",
    held="/jsz of every stream: messages",
    behind="/jsz of every consumer: num_pending and num_ack_pending, added up",
)
METRICS = (
    *(
        WatchedMetric(metric, unit, Field(name, page), meaning)
        for page, told in (("varz", _SERVER), ("jsz", _JETSTREAM))
        for name, metric, unit, meaning in told
    ),
    *LAG,
)
