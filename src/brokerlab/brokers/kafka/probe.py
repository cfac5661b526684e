"""Kafka's own figures, through the Jolokia agent inside each JVM: one request per node and second, reading only."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import ask
from brokerlab.model.plan import Endpoint

# The agent answers only requests that say they come from here: a page in a browser cannot say so.
JOLOKIA_ORIGIN = "http://brokerlab.invalid"
_TIMEOUT_S = 0.8
_COLLECTORS = "java.lang:name=*,type=GarbageCollector"


@dataclass(frozen=True)
class Figure:
    """Where a figure stands and what we call it. `part` is a key within a composite value."""

    bean: str
    attribute: str
    metric: str
    unit: str
    part: str | None = None
    scale: float = 1.0

    @property
    def is_jvm(self) -> bool:
        return self.bean.startswith("java.lang:")


def _request_times(request: str, metric: str) -> tuple[Figure, ...]:
    bean = f"kafka.network:type=RequestMetrics,name=TotalTimeMs,request={request}"
    return (
        Figure(bean, "Count", f"{metric}_requests_total", "1"),
        Figure(bean, "Mean", f"{metric}_request_time_mean_ms", "ms"),
        Figure(bean, "99thPercentile", f"{metric}_request_time_p99_ms", "ms"),
    )


_TOPIC_FIGURE = "kafka.server:type=BrokerTopicMetrics,name={}"
FIGURES = (
    Figure("java.lang:type=Memory", "HeapMemoryUsage", "heap_used_bytes", "B", part="used"),
    Figure("java.lang:type=Memory", "HeapMemoryUsage", "heap_committed_bytes", "B", part="committed"),
    Figure("java.lang:type=Threading", "ThreadCount", "threads", "1"),
    Figure("java.lang:type=OperatingSystem", "ProcessCpuTime", "cpu_seconds_total", "s", scale=1e-9),
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


def _readable() -> dict[str, tuple[str, ...]]:
    beans: dict[str, tuple[str, ...]] = {_COLLECTORS: ("CollectionCount", "CollectionTime")}
    for figure in FIGURES:
        beans[figure.bean] = tuple(dict.fromkeys((*beans.get(figure.bean, ()), figure.attribute)))
    return beans


READABLE = _readable()  # bean -> attributes; also all that the agent's policy lets anyone read


def bulk_request() -> bytes:
    """One request that reads everything."""
    return json.dumps(
        [{"type": "read", "mbean": bean, "attribute": list(attributes)} for bean, attributes in READABLE.items()]
    ).encode()


def readings_of(node: str, answers: list[Mapping[str, Any]]) -> list[Reading]:
    """Readings in one node's answer. Beans that do not exist yet (no request of that kind so far) give none."""
    values = {
        answer["request"]["mbean"]: answer["value"]
        for answer in answers
        if answer.get("status") == 200 and "request" in answer
    }
    readings = _collections(node, values.get(_COLLECTORS))
    for figure in FIGURES:
        value = values.get(figure.bean, {}).get(figure.attribute)
        if figure.part is not None and value is not None:
            value = value.get(figure.part)
        if isinstance(value, int | float) and math.isfinite(value):
            subject = f"{'jvm' if figure.is_jvm else 'broker'}:{node}"
            readings.append(Reading(subject, figure.metric, float(value) * figure.scale, figure.unit))
    return readings


def _collections(node: str, collectors: Mapping[str, Mapping[str, float]] | None) -> list[Reading]:
    """Garbage collections of all collectors of one JVM together."""
    if not collectors:
        return []
    count = sum(c["CollectionCount"] for c in collectors.values())
    time_ms = sum(c["CollectionTime"] for c in collectors.values())
    return [
        Reading(f"jvm:{node}", "gc_count_total", float(count), "1"),
        Reading(f"jvm:{node}", "gc_time_seconds_total", time_ms / 1000, "s"),
    ]


class JolokiaProbe:
    """Reads all nodes that have a Jolokia address, at the same time: a slow one must not keep the others waiting."""

    def __init__(
        self,
        endpoint: Endpoint,  # noqa: ARG002 - figures need no login
        nodes: tuple[NodeInfo, ...],
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        self._addresses = {node.name: node.urls["jolokia"] for node in nodes if "jolokia" in node.urls}
        self._body = bulk_request()
        self._timeout_s = timeout_s

    def read(self) -> list[Reading]:
        if not self._addresses:
            return []
        with ThreadPoolExecutor(len(self._addresses)) as pool:
            read = pool.map(self._read_node, self._addresses.keys(), self._addresses.values())
            return [reading for of_node in read for reading in of_node]

    def _read_node(self, name: str, url: str) -> list[Reading]:
        headers = {"Content-Type": "application/json", "Origin": JOLOKIA_ORIGIN}
        try:
            answer = ask(url, method="POST", body=self._body, headers=headers, seconds=self._timeout_s)
            answers = json.loads(answer.text)
        except (OSError, ValueError):
            return []
        return readings_of(name, answers) if isinstance(answers, list) else []
