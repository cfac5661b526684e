"""Kafka's own figures, through the Jolokia agent inside each JVM: one request per node and second, reading only."""

from __future__ import annotations

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.jolokia import JVM_FIGURES, Figure, JolokiaProbe, readable_by
from brokerlab.model.plan import Endpoint


def _request_times(request: str, metric: str) -> tuple[Figure, ...]:
    bean = f"kafka.network:type=RequestMetrics,name=TotalTimeMs,request={request}"
    return (
        Figure(bean, "Count", f"{metric}_requests_total", "1"),
        Figure(bean, "Mean", f"{metric}_request_time_mean_ms", "ms"),
        Figure(bean, "99thPercentile", f"{metric}_request_time_p99_ms", "ms"),
    )


_TOPIC_FIGURE = "kafka.server:type=BrokerTopicMetrics,name={}"
FIGURES = (
    *JVM_FIGURES,
    Figure(_TOPIC_FIGURE.format("MessagesInPerSec"), "Count", "messages_in_total", "1"),
    Figure(_TOPIC_FIGURE.format("MessagesInPerSec"), "OneMinuteRate", "messages_in_one_minute_rate", "1/s"),
    Figure(_TOPIC_FIGURE.format("BytesInPerSec"), "Count", "bytes_in_total", "B"),
    *_request_times("Produce", "produce"),
    *_request_times("FetchConsumer", "fetch_consumer"),
    Figure(
        "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions", "Value", "under_replicated_partitions", "1"
    ),
    Figure("kafka.log:type=LogCleaner,name=DeadThreadCount", "Value", "dead_log_cleaner_threads", "1"),
)
READABLE = readable_by(FIGURES)  # also all that the agent's policy lets anyone read


def probe(_endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> JolokiaProbe:
    """Without a login: the agent can only be read, and only from here."""
    return JolokiaProbe(None, nodes, FIGURES)
