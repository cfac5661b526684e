"""Result tables that are computed from other result tables, once those are made: a handful of rows, so without Spark."""

from __future__ import annotations

from dataclasses import replace

from brokerlab.model.tables import Column, Table
from brokerlab.results.columns import EXECUTION, GROUP, MEASURE, PHASE, RUN, SECOND, count, maybe

EXECUTION_FIGURE = Table(
    "execution_figure",
    "Every figure of run_summary, execution by execution, those set aside included.",
    (
        *EXECUTION,
        Column("metric", "string", "", "as in run_summary"),
        Column("unit", "string", "", "unit of the value"),
        Column("value", "double", "", "the figure of this execution"),
    ),
)

COST = Table(
    "cost",
    "What a message cost, by execution and phase: measure (its whole seconds), and drain where consumers start after the backlog (from the first to the last second in which anything arrived). Null where a count or a reading is missing, with the reason.",
    (
        *EXECUTION,
        PHASE,
        Column("seconds", "long", "s", "seconds used"),
        count("sent", "messages sent in them"),
        count("received", "messages received in them, all groups"),
        maybe("producer_cpu_us_per_message", "µs", "CPU time of the agents that send / sent"),
        maybe("consumer_cpu_us_per_message", "µs", "CPU time of the agents that receive / received"),
        maybe("client_cpu_us_per_message", "µs", "CPU time of all agents / messages: sent, in the drain received"),
        maybe("broker_cpu_us_per_message", "µs", "CPU time of all nodes, from readings half a second apart from the counts at most / messages"),
        maybe("broker_disk_written_bytes_per_message", "B", "bytes that all nodes gave to the disk (write_bytes of the kernel) / messages"),
        maybe("stored_bytes_per_message", "B", "(bytes in the data directories of all nodes at the first reading after all was sent - at the first reading, before the load) / messages sent in the whole execution; a file counts with its length or what it occupies, whichever is less"),
        Column("reason", "string", "", "why figures are null; empty where none is"),
    ),
)  # fmt: skip

CATCH_UP = Table(
    "catch_up",
    "How fast a backlog was received, by group: only of consumers that start later than the first send. Where everything was sent before, from the exact times of arrival, so the shortest backlog has a rate; where producers go on, until the group has caught up: until it is behind by no more than what is sent in 0.1 s, from the counts of each second; within the last one at the rate of the one before.",
    (
        *EXECUTION,
        GROUP,
        Column("consumer_set", "string", "", "set of consumers; empty where a cell has one", since="0.2.0", default=""),
        Column("backlog", "long", "1", "messages sent when it started; null where that is not known", nullable=True, since="0.2.0"),
        Column("while_sending", "boolean", "", "whether it caught up while producers went on", since="0.2.0", default=False),
        count("received", "messages received until it had caught up, or all of them; duplicates included"),
        Column("waited_s", "double", "s", "first arrival - when the set was started: the consumers' connections included, and before 0.2.0 their processes"),
        Column("took_s", "double", "s", "when it had caught up - first arrival; otherwise last arrival - first arrival"),
        maybe("received_per_s", "1/s", "received / took_s, otherwise (received - 1) / took_s"),
        maybe("received_bytes_per_s", "B/s", "received_per_s x mean size of what was received"),
        Column("reason", "string", "", "why there is no rate; empty where there is one"),
    ),
)  # fmt: skip

MINUTE_RATE = Table(
    "minute_rate",
    "The one-minute rate as JVM brokers publish it, computed from our own counts, beside a plain minute and beside the broker's own reading. From the first second with messages on.",
    (
        *EXECUTION, SECOND,
        replace(PHASE, meaning="phase: warm_up, measure, drain; empty in a second without rows of rate_per_second"),
        Column("series", "string", "", "sent, or received by all groups"),
        Column("per_s", "double", "1/s", "messages in this second"),
        Column("one_minute_per_s", "double", "1/s", "after this second: every 5 s, rate = rate + (1 - exp(-5/60)) x (messages of these 5 s / 5 - rate), from 0 at the beginning of the first second, as of a meter that was there before the load; the broker's 5 s may begin up to 5 s apart from these"),
        maybe("sliding_minute_per_s", "1/s", "messages of the last 60 s / 60; null in the first 59"),
        maybe("broker_one_minute_per_s", "1/s", "messages_in_one_minute_rate of all nodes, read in this second; null where the broker has none, for received, and where a node was not read"),
    ),
)  # fmt: skip

LATENCY_SPECTRUM = Table(
    "latency_spectrum",
    "The value at percentiles that come closer and closer to 100, as HdrHistogram steps through them: five steps until half of what is left is passed, then five again, while a sample lies beyond; and 100. Measure phase; repeat 0 is all counted repeats of the cell merged.",
    (
        *EXECUTION, MEASURE, GROUP,
        Column("percentile", "double", "%", "share of the samples, in percent"),
        Column("value_ns", "long", "ns", "quantile of the merged histogram, as in latency_per_phase; at 100 the largest sample"),
        count("samples", "samples up to the end of the bucket that holds it"),
    ),
)  # fmt: skip

DIP = Table(
    "dip",
    "What each planned fault did to the rates, by side: how deep they fell, for how long, and when they were back. Seconds from the fault's to the next fault or the end of the measure phase; outage_s is exact, the rest goes by whole seconds.",
    (
        *EXECUTION,
        Column("number", "int", "1", "number of the fault, as in fault"),
        Column("fault", "string", "", "kind of fault, as in fault"),
        Column("node", "string", "", "node the fault hit"),
        Column("side", "string", "", "publish (acknowledgements) or delivery (of all groups)"),
        maybe("outage_s", "s", "longest time without any message, as in fault: from single messages"),
        Column("outage_ended", "boolean", "", "whether a message ended it", nullable=True),
        maybe("before_per_s", "1/s", "mean of the whole seconds of the measure phase before the fault's, since the rate was back after the fault before it; at least 3"),
        maybe("lowest_per_s", "1/s", "the least of any second from the fault's on"),
        maybe("depth", "1", "1 - lowest_per_s / before_per_s"),
        maybe("during_per_s", "1/s", "mean of the seconds from the fault's until the rate was back, or the end"),
        maybe("during_share", "1", "during_per_s / before_per_s"),
        Column("silent_s", "long", "s", "seconds without any message"),
        maybe("recovery_s", "s", "from the fault to the first second from which on three in a row have at least 90 % of before_per_s; 0 where the fault's own second is one"),
        Column("recovered", "boolean", "", "whether the rate was back before the end", nullable=True),
        Column("reason", "string", "", "why figures are null; empty where none is"),
    ),
)  # fmt: skip


def _estimate(name: str, unit: str, meaning: str) -> tuple[Column, ...]:
    return (
        maybe(name, unit, meaning),
        maybe(f"{name}_low", unit, f"lower end of the 95 % interval of {name}"),
        maybe(f"{name}_high", unit, "upper end likewise; null where it has none"),
    )


SCALING = Table(
    "scaling",
    "The Universal Scalability Law through the rates of cells that differ in one swept number alone: rate(N) = alone_per_s x N / (1 + contention x (N - 1) + coherency x N x (N - 1)). In a closed loop, with at least 4 different N; elsewhere the row says why there is no curve. The method is described in statistics.md.",
    (
        RUN,
        Column("axis", "string", "", "swept field that is N"),
        Column("series", "string", "", "what the cells share: broker and the other swept fields"),
        Column("metric", "string", "", "rate of run_summary that is fitted"),
        Column("cells", "string", "", "cells of the curve, separated by commas"),
        Column("left_out", "string", "", "cells of the series whose rates are not valid: not in the curve"),
        Column("points", "int", "1", "different N with a rate"),
        Column("executions", "int", "1", "counted executions with a rate"),
        *_estimate("alone_per_s", "1/s", "rate of N = 1"),
        *_estimate("contention", "1", "share of the work that is done one at a time; 0 where all is done side by side"),
        *_estimate("coherency", "1", "cost of every two that have to agree; above 0 the rate falls again beyond the knee"),
        *_estimate("knee", "1", "N with the highest rate: sqrt((1 - contention) / coherency); null where the rate only rises"),
        Column("knee_measured", "boolean", "", "whether the knee lies between the least and the most N that was measured; otherwise it is an extrapolation", nullable=True),
        maybe("highest_per_s", "1/s", "rate at the knee by the curve"),
        maybe("deviation", "1", "standard deviation of the executions from the curve, as a share of the rate"),
        Column("reason", "string", "", "why there is no curve or no knee; empty where there are both"),
    ),
)  # fmt: skip

RECOUNT = Table(
    "recount",
    "Delivery and latencies counted again from single messages, where they were kept and no evidence is missing. The two ways share nothing but the agents' clock; any difference makes the execution invalid.",
    (
        *EXECUTION, GROUP,
        Column("figure", "string", "", "acknowledged, rejected, received, duplicated or lost, as in delivery; publish_latency or end_to_end_latency: samples of all phases, those below zero left out"),
        count("as_told", "by ranges of numbers, or by histograms merged over agents and seconds"),
        count("by_message", "by single messages: bitmaps of their numbers, buckets of their times"),
        count("difference", "between the two; of latencies, samples in other buckets"),
    ),
)  # fmt: skip

DERIVED_TABLES = (EXECUTION_FIGURE, COST, CATCH_UP, MINUTE_RATE, DIP, SCALING, RECOUNT)  # from rows
