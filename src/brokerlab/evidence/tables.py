"""The evidence contract: the columns that are dearest to change.

Rows are additive deltas; readers sum. All `_mono_ns` times are CLOCK_MONOTONIC of the host that wrote them;
environment.json pairs that clock with UNIX time. `second_unix_s` is derived from it with that pair.
Files: evidence/<cell>-r<repeat>/<table>/<writer>-<number>.parquet, closed and renamed every second or two.
"""

from __future__ import annotations

from dataclasses import replace

from brokerlab.model.metrics import MEASURE_TABLE, Measure
from brokerlab.model.tables import Column, Table

WHERE = (
    Column("run", "string", "", "run directory's name"),
    Column("cell", "string", "", "cell of the sweep"),
    Column("repeat", "int", "1", "repeat of the cell, from 1"),
    Column("host", "string", "", "name of the host that wrote the row", since="0.2.0", default=""),
)
AGENT = (*WHERE, Column("agent", "string", "", "load process that wrote the row"))


def _histogram(of: Measure) -> tuple[Column, ...]:
    name, meaning = of.key, of.meaning
    columns = (
        Column(f"{name}_bucket", "array<int>", "1", f"{meaning}: log-linear bucket numbers with a count, ascending"),
        Column(f"{name}_count", "array<long>", "1", f"{name}: samples in each of those buckets"),
        Column(f"{name}_min_ns", "long", "ns", f"{name}: smallest sample, 0 without samples", nullable=True),
        Column(f"{name}_max_ns", "long", "ns", f"{name}: largest sample, 0 without samples", nullable=True),
        Column(f"{name}_sum_ns", "long", "ns", f"{name}: sum of samples"),
    )
    if of.since == "0.1.0":
        return columns
    return tuple(replace(c, since=of.since, default=() if c.type.startswith("array") else 0) for c in columns)


INTERVAL = Table(
    "interval",
    "What became of the messages scheduled in one second, by agent, destination and group.",
    (
        *AGENT,
        Column("role", "string", "", "producer or consumer"),
        Column("destination", "int", "1", "number of the destination, from 0"),
        Column("group", "string", "", "consumer group, empty for producers"),
        Column("second_unix_s", "long", "s", "second in which the messages were scheduled"),
        Column("phase", "string", "", "phase in which they were scheduled: warm_up, measure"),
        Column("due", "long", "1", "messages that became due (open loop) or were offered (closed loop)"),
        Column("sent", "long", "1", "messages the client took"),
        Column("acknowledged", "long", "1", "messages the broker acknowledged"),
        Column("rejected", "long", "1", "messages certainly not written"),
        Column("unknown", "long", "1", "messages about which nothing is known: timeout, lost connection"),
        Column("received", "long", "1", "deliveries, duplicates included"),
        Column("redelivered", "long", "1", "deliveries the broker itself marked as repeated"),
        Column("bytes", "long", "B", "payload bytes sent (producer) or received (consumer), header included"),
        Column(
            "negative", "long", "1", "samples from the scheduled time below zero: counted, kept out of the histograms"
        ),
        Column("sub_bucket_bits", "int", "1", "histogram resolution: 2^bits buckets per power of two"),
        *(column for measure in MEASURE_TABLE for column in _histogram(measure)),
        Column(
            "negative_from_send", "long", "1", "samples of the latencies from send below zero", since="0.2.0", default=0
        ),
    ),
)

ACTIVITY = Table(
    "activity",
    "What one agent did in one second of the clock, whatever was scheduled then, and what it cost.",
    (
        *AGENT,
        Column("role", "string", "", "producer or consumer"),
        Column("group", "string", "", "consumer group, empty for producers"),
        Column("second_unix_s", "long", "s", "second in which it happened"),
        Column("phase", "string", "", "phase at the start of that second: warm_up, measure, drain"),
        Column("sent", "long", "1", "messages the client took in this second"),
        Column("acknowledged", "long", "1", "acknowledgements in this second"),
        Column("rejected", "long", "1", "rejections in this second"),
        Column("unknown", "long", "1", "messages given up in this second"),
        Column("received", "long", "1", "deliveries in this second"),
        Column("corrupted", "long", "1", "deliveries with a wrong checksum or length: they belong to no message"),
        Column("unexpected", "long", "1", "deliveries of another run, or of no run"),
        Column("bytes", "long", "B", "payload bytes sent or received in this second"),
        Column("buffer_full", "long", "1", "times the client took less than offered"),
        Column("behind", "long", "1", "messages due but not yet sent at the end of this second"),
        Column("in_flight", "long", "1", "messages sent but not settled at the end of this second"),
        Column("ticks", "long", "1", "turns of the engine's loop"),
        Column("cpu_user_ns", "long", "ns", "user CPU time of the process in this second"),
        Column("cpu_system_ns", "long", "ns", "system CPU time of the process in this second"),
        Column("elapsed_ns", "long", "ns", "length of this second as measured"),
        Column(
            "longest_pause_ns",
            "long",
            "ns",
            "longest time in which the process did not run, beyond what it slept on purpose",
            since="0.2.0",
            default=0,
        ),
    ),
)

SEQUENCE = Table(
    "sequence",
    "What arrived, as runs of consecutive sequence numbers of one lane in arrival order.",
    (
        *AGENT,
        Column("group", "string", "", "consumer group"),
        Column("consumer", "int", "1", "number of the consumer in the cell"),
        Column("epoch", "int", "1", "assignment epoch: grows when lanes move between consumers"),
        Column("producer", "int", "1", "number of the producer in the cell"),
        Column("partition", "int", "1", "cell-wide partition number"),
        Column("first", "long", "1", "first sequence number of the run"),
        Column("last", "long", "1", "last sequence number of the run"),
        Column("first_mono_ns", "long", "ns", "arrival of the first"),
        Column("last_mono_ns", "long", "ns", "arrival of the last"),
        Column("ordinal", "long", "1", "arrival order of runs within the consumer: breaks ties of time"),
        Column("redelivered", "long", "1", "deliveries in the run that the broker marked as repeated"),
        Column("first_position", "long", "1", "broker offset of the first, -1 where it has none"),
        Column("last_position", "long", "1", "broker offset of the last, -1 where it has none"),
    ),
)

OUTCOME = Table(
    "outcome",
    "What became of every send, as ranges of sequence numbers of one lane.",
    (
        *AGENT,
        Column("producer", "int", "1", "number of the producer in the cell"),
        Column("partition", "int", "1", "cell-wide partition number"),
        Column("first", "long", "1", "first sequence number of the range"),
        Column("last", "long", "1", "last sequence number of the range"),
        Column("outcome", "string", "", "acknowledged, rejected or unknown; `sent` ranges say what was handed over"),
    ),
)

ERROR = Table(
    "error",
    "Errors by kind.",
    (
        *AGENT,
        Column("kind", "string", "", "the client library's name for it"),
        Column("text", "string", "", "one example"),
        Column("count", "long", "1", "how often"),
        Column("first_mono_ns", "long", "ns", "first time"),
        Column("last_mono_ns", "long", "ns", "last time"),
    ),
)

EVENT = Table(
    "event",
    "What happened in a run: phases, node starts and stops, drains, faults, interruptions.",
    (
        *WHERE,
        Column("source", "string", "", "runner, or an agent's or node's name"),
        Column("kind", "string", "", "start, phase, drain, node_died, agent_died, interrupted, end, ..."),
        Column("at_mono_ns", "long", "ns", "when"),
        Column("detail", "string", "", "JSON object with what else is known"),
    ),
)

READING = Table(
    "reading",
    "Figures read from outside: host, processes, JVMs, brokers.",
    (
        *WHERE,
        Column("at_mono_ns", "long", "ns", "when it was read"),
        Column("second_unix_s", "long", "s", "second in which it was read"),
        Column("subject", "string", "", "host, process:<name>, jvm:<node>, broker:<node>"),
        Column("metric", "string", "", "name of the quantity; counters end in _total"),
        Column("value", "double", "", "value in `unit`"),
        Column("unit", "string", "", "unit of the value"),
    ),
)

MESSAGE = Table(
    "message",
    "On request: one row per send (at settlement) and per delivery.",
    (
        *AGENT,
        Column("kind", "string", "", "send or delivery"),
        Column("group", "string", "", "consumer group, empty for sends"),
        Column("producer", "int", "1", "number of the producer"),
        Column("partition", "int", "1", "cell-wide partition number"),
        Column("sequence", "long", "1", "sequence number within the lane"),
        Column("scheduled_mono_ns", "long", "ns", "when it was due"),
        Column("at_mono_ns", "long", "ns", "settlement or arrival"),
        Column("outcome", "string", "", "outcome of a send; `received` for a delivery"),
        Column("ordinal", "long", "1", "order of deliveries within the agent"),
    ),
)

EVIDENCE_TABLES = {t.name: t for t in (INTERVAL, ACTIVITY, SEQUENCE, OUTCOME, ERROR, EVENT, READING, MESSAGE)}
