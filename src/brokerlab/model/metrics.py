"""Every measure and figure once: what other modules, tables and pages know about them comes from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brokerlab.model.quantiles import JUDGED_QUANTILES, QUANTILES

Moment = Literal["scheduled", "sent", "acknowledged", "received"]


@dataclass(frozen=True)
class Measure:
    """A duration taken of every message, from one moment of it to another; nanoseconds, kept as a histogram."""

    key: str
    words: str
    short: str  # where a heading already says "latency"
    begins: Moment
    ends: Moment
    since: str = "0.1.0"  # the first version that keeps it

    @property
    def meaning(self) -> str:
        return f"time {self.ends} minus time {self.begins}"


# In the order of the ledger (native/brokerlab.h). A message is sent at its scheduled time plus our own lateness: when the
# engine begins to stamp and hand over the block in which the client takes it, less the time for which the client took fewer
# messages than were due. In a closed loop that is its scheduled time.
MEASURE_TABLE = (
    Measure("publish_latency", "publish latency", "publish", "scheduled", "acknowledged"),
    Measure("end_to_end_latency", "end-to-end latency", "end-to-end", "scheduled", "received"),
    Measure("send_delay", "send delay", "send delay", "scheduled", "sent"),
    Measure(
        "publish_latency_from_send", "publish latency from send", "publish from send",
        "sent", "acknowledged", since="0.2.0",
    ),
    Measure(
        "end_to_end_latency_from_send", "end-to-end latency from send", "end-to-end from send",
        "sent", "received", since="0.2.0",
    ),
)  # fmt: skip
MEASURES = tuple(m.key for m in MEASURE_TABLE)
# What charts draw and cells are compared by; those from send are the same latencies without our own lateness.
FROM_SCHEDULE = tuple(m.key for m in MEASURE_TABLE if m.begins == "scheduled")
FROM_SEND = tuple(m.key for m in MEASURE_TABLE if m.begins == "sent")
LATENCIES = tuple(m.key for m in MEASURE_TABLE if m.begins == "scheduled" and m.ends != "sent")
OF_DELIVERIES = tuple(m.key for m in MEASURE_TABLE if m.ends == "received")
# A latency from the scheduled time, and the same without our own lateness.
WITHOUT_LATENESS = {
    "publish_latency": "publish_latency_from_send",
    "end_to_end_latency": "end_to_end_latency_from_send",
}


def measure_words(key: str) -> str:
    return next((m.words for m in MEASURE_TABLE if m.key == key), key.replace("_", " "))


@dataclass(frozen=True)
class Metric:
    """A figure of a cell (`run_summary`): its unit, what people call it, which way is better, and which part of a verdict
    must hold for it to be believed."""

    key: str
    unit: str
    words: str
    better: Literal["higher", "lower"] | None
    aspect: Literal["delivery", "rates", "latencies"]
    meaning: str


RATES = (
    Metric("sent_per_s", "1/s", "sent", "higher", "rates", "messages sent / length"),
    Metric("received_per_s", "1/s", "received", "higher", "rates", "messages received by all groups / length"),
    Metric("sent_bytes_per_s", "B/s", "sent bytes", "higher", "rates", "bytes sent / length"),
    Metric("received_bytes_per_s", "B/s", "received bytes", "higher", "rates", "bytes received / length"),
    Metric(
        "backlog_received_per_s",
        "1/s",
        "backlog received",
        "higher",
        "rates",
        "messages received in the drain / its length",
    ),
    Metric("agent_cpu_cores", "cores", "agents' CPU", "lower", "rates", "CPU of all agents"),
)
COUNTS = ("lost", "duplicated", "reordered", "corrupted", "unexpected", "rejected", "unknown")
COUNT_METRICS = tuple(Metric(name, "1", name, "lower", "delivery", f"messages {name}") for name in COUNTS)
LATENCY_METRICS = tuple(
    Metric(
        f"{m.key}_{q.key}",
        "ns",
        f"{m.words} {q.words}",
        "lower",
        "latencies",
        f"{q.meaning} of {m.key}, the worst group",
    )
    for m in MEASURE_TABLE
    for q in QUANTILES
    if q.summary
)
METRICS = {m.key: m for m in (*RATES, *LATENCY_METRICS, *COUNT_METRICS)}
# What an answer rests on: rates, counts, and the latencies at the quantiles that our own lateness must not distort.
JUDGED_METRICS = frozenset(
    (
        *(m.key for m in (*RATES, *COUNT_METRICS)),
        *(f"{latency}_{quantile}" for latency in LATENCIES for quantile in JUDGED_QUANTILES),
    )
)
