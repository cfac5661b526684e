"""What is watched of ActiveMQ: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.brokers.kit.lag import lag_rows
from brokerlab.model.watched import Bean, WatchedMetric
from brokerlab.model.watched_here import JVM

BROKER = "org.apache.activemq:brokerName=*,type=Broker"
OWN = (
    WatchedMetric("messages", "1", Bean(BROKER, "TotalMessageCount"), "messages in all destinations"),
    WatchedMetric("messages_enqueued_total", "1", Bean(BROKER, "TotalEnqueueCount"), "messages taken in"),
    WatchedMetric("messages_dequeued_total", "1", Bean(BROKER, "TotalDequeueCount"), "messages acknowledged"),
    WatchedMetric("connections", "1", Bean(BROKER, "CurrentConnectionsCount"), "open connections"),
    WatchedMetric("memory_used_percent", "%", Bean(BROKER, "MemoryPercentUsage"), "share of its memory limit in use"),
)
QUEUE = "org.apache.activemq:brokerName=*,destinationName=*,destinationType=Queue,type=Broker"
LAG = lag_rows(taken_in=Bean(QUEUE, "EnqueueCount"), held=Bean(QUEUE, "QueueSize"), behind=Bean(QUEUE, "QueueSize"))
FIGURES = (*JVM.values(), *OWN)
METRICS = (*FIGURES, *LAG)
