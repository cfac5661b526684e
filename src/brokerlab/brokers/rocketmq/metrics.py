"""What is watched of RocketMQ: rows of the table of metrics."""

from __future__ import annotations

from brokerlab.brokers.kit.lag import lag_rows
from brokerlab.model.watched import Field, WatchedMetric

_TOLD = (  # entry of the runtime information, metric, unit, meaning
    ("msgPutTotalTodayNow", "messages_in_total", "1", "messages taken in since midnight"),
    ("msgGetTotalTodayNow", "messages_out_total", "1", "messages delivered since midnight"),
    ("commitLogMaxOffset", "log_end_total", "B", "bytes ever written to the commit log"),
    ("dispatchBehindBytes", "not_yet_dispatched", "B", "bytes of the log not yet in a queue"),
    ("sendThreadPoolQueueSize", "sends_waiting", "1", "requests to send that wait"),
)
BROKER = tuple(WatchedMetric(metric, unit, Field(name), meaning) for name, metric, unit, meaning in _TOLD)
TOPICS = WatchedMetric("topics", "1", Field("topicList"), "topics that a name server knows")
LAG = lag_rows(
    taken_in="GET_MAX_OFFSET of all queues, added up",
    behind="GET_MAX_OFFSET of a queue less what GET_ALL_CONSUMER_OFFSET says of the group",
)
METRICS = (*BROKER, TOPICS, *LAG)
