"""What is watched of Artemis: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.brokers.kit.lag import lag_rows
from brokerlab.model.watched import Bean, WatchedMetric
from brokerlab.model.watched_here import JVM

BROKER = "org.apache.activemq.artemis:broker=*"
OWN = (
    WatchedMetric("messages", "1", Bean(BROKER, "TotalMessageCount"), "messages in all queues"),
    WatchedMetric("messages_enqueued_total", "1", Bean(BROKER, "TotalMessagesAdded"), "messages added to queues"),
    WatchedMetric("messages_dequeued_total", "1", Bean(BROKER, "TotalMessagesAcknowledged"), "messages acknowledged"),
    WatchedMetric("connections", "1", Bean(BROKER, "ConnectionCount"), "open connections"),
    WatchedMetric("memory_used_bytes", "B", Bean(BROKER, "AddressMemoryUsage"), "memory of all addresses"),
)
ADDRESS = f"{BROKER},component=addresses,address=*"
QUEUE = f"{ADDRESS},subcomponent=queues,routing-type=*,queue=*"
LAG = lag_rows(taken_in=Bean(ADDRESS, "RoutedMessageCount"), behind=Bean(QUEUE, "MessageCount"))
FIGURES = (*JVM.values(), *OWN)
METRICS = (*FIGURES, *LAG)
