"""What is watched of ElasticMQ: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.model.watched import Field, WatchedMetric
from brokerlab.model.watched_here import JVM

QUEUES = (
    WatchedMetric("messages_visible", "1", Field("approximateNumberOfVisibleMessages"), "messages ready to be received"),
    WatchedMetric("messages_in_flight", "1", Field("approximateNumberOfInvisibleMessages"), "messages received and not deleted"),
    WatchedMetric("messages_delayed", "1", Field("approximateNumberOfMessagesDelayed"), "messages not yet visible"),
)  # fmt: skip
COUNT = WatchedMetric("queues", "1", Field("queues"), "queues")
METRICS = (*JVM.values(), *QUEUES, COUNT)
