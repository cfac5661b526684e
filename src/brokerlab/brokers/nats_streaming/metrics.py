"""What is watched of NATS Streaming: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.brokers.kit.lag import lag_rows
from brokerlab.model.watched import Field, WatchedMetric

PAGE = "streaming/serverz"
_TOLD = (  # field, metric, unit, meaning
    ("clients", "clients", "1", "clients"),
    ("subscriptions", "subscriptions", "1", "subscriptions"),
    ("channels", "channels", "1", "channels"),
    ("open_fds", "open_fds", "1", "open files and sockets"),
    ("in_msgs", "in_msgs_total", "1", "messages taken in"),
    ("in_bytes", "in_bytes_total", "B", "bytes taken in"),
    ("out_msgs", "out_msgs_total", "1", "messages delivered"),
    ("out_bytes", "out_bytes_total", "B", "bytes delivered"),
    ("total_msgs", "stored_msgs", "1", "messages stored"),
    ("total_bytes", "stored_bytes", "B", "bytes stored"),
)
LAG = lag_rows(
    taken_in="/streaming/channelsz: last_seq of a channel",
    held="/streaming/channelsz: msgs of a channel",
    behind="/streaming/channelsz: last_seq less the group's last_sent, and its pending_count",
)
METRICS = (*(WatchedMetric(metric, unit, Field(name, PAGE), meaning) for name, metric, unit, meaning in _TOLD), *LAG)
