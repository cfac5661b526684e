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
    must hold for it to be believed. `compared`: cells are, in the table `comparison`; otherwise only on request."""

    key: str
    unit: str
    words: str
    better: Literal["higher", "lower"] | None
    aspect: Literal["delivery", "rates", "latencies"]
    meaning: str
    compared: bool = True


RATES = (
    Metric("sent_per_s", "1/s", "sent", "higher", "rates", "messages sent / length"),
    Metric(
        "received_per_s", "1/s", "received", "higher", "rates", "messages received by all groups that tail / length"
    ),
    Metric("sent_bytes_per_s", "B/s", "sent bytes", "higher", "rates", "bytes sent / length"),
    Metric("received_bytes_per_s", "B/s", "received bytes", "higher", "rates", "bytes received / length"),
    Metric(
        "backlog_received_per_s",
        "1/s",
        "backlog received",
        "higher",
        "rates",
        "where consumers start later than the first send, received_per_s of catch_up, all groups of a set added, the slowest"
        " set; otherwise messages received in the drain / its length",
    ),
    Metric("agent_cpu_cores", "cores", "agents' CPU", "lower", "rates", "CPU of all agents"),
)
_WHOLE = "whole second of the measure phase"
COURSE = (
    Metric("sent_peak_per_s", "1/s", "sent at most", None, "rates", f"messages sent in the busiest {_WHOLE}", compared=False),
    Metric("received_peak_per_s", "1/s", "received at most", None, "rates", f"messages received by all groups in the busiest {_WHOLE}", compared=False),
    Metric("sent_variation", "1", "variation of sent", "lower", "rates", f"standard deviation / mean of the messages sent in each {_WHOLE}", compared=False),
    Metric("received_variation", "1", "variation of received", "lower", "rates", f"standard deviation / mean of the messages received in each {_WHOLE}", compared=False),
    Metric("received_per_sent", "1", "received / sent", "higher", "rates", "messages received / (messages sent x groups), measure phase", compared=False),
    Metric("broker_messages_in_per_s", "1/s", "taken in by the broker", "higher", "rates", "messages the broker itself counted as taken in / length, all nodes; only where it counts them", compared=False),
    Metric("sent_one_minute_per_s", "1/s", "sent, one-minute", "higher", "rates", "one_minute_per_s of minute_rate at the end of the measure phase: far below the rate in a short run", compared=False),
    Metric("broker_one_minute_per_s", "1/s", "broker's one-minute", "higher", "rates", "broker_one_minute_per_s of minute_rate at the end of the measure phase", compared=False),
)  # fmt: skip
CEILING_SHARES = (
    Metric("sent_share_of_disk", "1", "sent / disk ceiling", None, "rates", "sent_bytes_per_s / what the disk can write at most; with `ceilings: true`", compared=False),
    Metric("sent_share_of_loopback", "1", "sent / loopback ceiling", None, "rates", "sent_bytes_per_s / what one connection over the loopback carries at most; with `ceilings: true`", compared=False),
)  # fmt: skip
COSTS = (
    Metric("broker_cpu_us_per_message", "µs", "broker's CPU per message", "lower", "rates", "CPU time of all nodes / messages sent", compared=False),
    Metric("client_cpu_us_per_message", "µs", "clients' CPU per message", "lower", "rates", "CPU time of all agents / messages sent", compared=False),
    Metric("producer_cpu_us_per_message", "µs", "producers' CPU per message", "lower", "rates", "CPU time of the agents that send / messages sent", compared=False),
    Metric("consumer_cpu_us_per_message", "µs", "consumers' CPU per message", "lower", "rates", "CPU time of the agents that receive / messages received", compared=False),
    Metric("broker_disk_written_bytes_per_message", "B", "written to disk per message", "lower", "rates", "bytes that all nodes gave to the disk / messages sent", compared=False),
    Metric("stored_bytes_per_message", "B", "stored per message", "lower", "rates", "growth of the data directories of all nodes until all was sent / messages sent, replicas included", compared=False),
)  # fmt: skip
BACKLOG_COSTS = (
    Metric("backlog_broker_cpu_us_per_message", "µs", "broker's CPU per message of a backlog", "lower", "rates", "CPU time of all nodes / messages received, while a backlog is received", compared=False),
    Metric("backlog_disk_written_bytes_per_message", "B", "written to disk per message of a backlog", "lower", "rates", "bytes that all nodes gave to the disk / messages received, while a backlog is received", compared=False),
)  # fmt: skip
FAULTS = tuple(
    Metric(f"{side}_{key}", "s", f"{side} {words}", "lower", "rates", f"{key} of dip, the worst fault; not of an execution in which one did not end", compared=False)
    for side in ("publish", "delivery")
    for key, words in (("outage_s", "outage"), ("recovery_s", "recovery"))
)  # fmt: skip
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
METRICS = {
    m.key: m
    for m in (*RATES, *COURSE, *CEILING_SHARES, *COSTS, *BACKLOG_COSTS, *FAULTS, *LATENCY_METRICS, *COUNT_METRICS)
}
# What an answer about a broker rests on: rates, counts, and the latencies at the quantiles that our own lateness must not
# distort. What the agents themselves used says nothing about a broker.
JUDGED_METRICS = frozenset(
    (
        *(m.key for m in (*RATES, *COUNT_METRICS) if m.key != "agent_cpu_cores"),
        *(f"{latency}_{quantile}" for latency in LATENCIES for quantile in JUDGED_QUANTILES),
    )
)
