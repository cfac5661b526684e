"""What is watched of Kafka: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.brokers.kit.lag import BY_OFFSETS
from brokerlab.model.watched import Bean, WatchedMetric
from brokerlab.model.watched_here import JVM


def _request_times(request: str, metric: str, words: str) -> tuple[WatchedMetric, ...]:
    bean = f"kafka.network:type=RequestMetrics,name=TotalTimeMs,request={request}"
    return (
        WatchedMetric(f"{metric}_requests_total", "1", Bean(bean, "Count"), f"{words} requests answered"),
        WatchedMetric(f"{metric}_request_time_mean_ms", "ms", Bean(bean, "Mean"), f"mean time of a {words} request"),
        WatchedMetric(
            f"{metric}_request_time_p99_ms", "ms", Bean(bean, "99thPercentile"), f"99th percentile of a {words} request"
        ),
    )


def _topics(name: str, attribute: str = "Count") -> Bean:
    return Bean(f"kafka.server:type=BrokerTopicMetrics,name={name}", attribute)


METRICS = (
    *JVM.values(),
    WatchedMetric("messages_in_total", "1", _topics("MessagesInPerSec"), "messages taken in"),
    WatchedMetric(
        "messages_in_one_minute_rate", "1/s", _topics("MessagesInPerSec", "OneMinuteRate"),
        "Kafka's own moving average of a minute; slow to follow",
    ),
    WatchedMetric("bytes_in_total", "B", _topics("BytesInPerSec"), "bytes taken in from producers"),
    *_request_times("Produce", "produce", "produce"),
    *_request_times("FetchConsumer", "fetch_consumer", "consumers' fetch"),
    WatchedMetric(
        "under_replicated_partitions", "1", Bean("kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions", "Value"),
        "partitions led here with a replica that is behind",
    ),
    WatchedMetric(
        "dead_log_cleaner_threads", "1", Bean("kafka.log:type=LogCleaner,name=DeadThreadCount", "Value"),
        "threads of the log cleaner that have died",
    ),
    *BY_OFFSETS,
)  # fmt: skip
