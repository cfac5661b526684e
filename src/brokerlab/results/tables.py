"""The tables people read, made from evidence by the pipeline: tables/<name>/*.parquet in the run directory."""

from __future__ import annotations

import math

from brokerlab.model import steadiness as steady
from brokerlab.model.metrics import METRICS
from brokerlab.model.quantiles import QUANTILES, Quantile
from brokerlab.model.tables import Column, Table
from brokerlab.results.columns import CELL as _CELL
from brokerlab.results.columns import COUNTED as _COUNTED
from brokerlab.results.columns import GROUP as _GROUP
from brokerlab.results.columns import MEASURE as _MEASURE
from brokerlab.results.columns import PHASE as _PHASE
from brokerlab.results.columns import REPEAT as _REPEAT
from brokerlab.results.columns import RUN as _RUN
from brokerlab.results.columns import SECOND as _SECOND
from brokerlab.results.columns import count as _count
from brokerlab.results.derived_tables import DERIVED_TABLES, LATENCY_SPECTRUM


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _quantile(q: Quantile) -> Column:
    meaning = f"{q.meaning} of the merged histogram (upper bound of its bucket, at most 0.78 % above; never above max_ns); believe it from {q.fewest_samples:,} samples on"
    return Column(q.key, "long", "ns", meaning)


RATE_PER_SECOND = Table(
    "rate_per_second",
    "Messages and bytes in each second of the clock (when it happened), all agents of a role and group together.",
    (
        _RUN, _CELL, _REPEAT, _COUNTED, _SECOND, _PHASE,
        Column("role", "string", "", "producer or consumer"),
        _GROUP,
        _count("due", "messages scheduled in this second"),
        _count("sent", "messages handed to the client in this second"),
        _count("acknowledged", "acknowledgements in this second"),
        _count("rejected", "rejections in this second"),
        _count("unknown", "messages given up in this second"),
        _count("received", "deliveries in this second"),
        Column("bytes", "long", "B", "payload bytes sent or received in this second"),
        Column("buffer_full", "long", "1", "times the client took less than offered in this second", since="0.2.0", default=0),
        Column("cpu_ns", "long", "ns", "CPU time of the agents in this second", nullable=True, since="0.2.0"),
    ),
)  # fmt: skip

LATENCY_PER_SECOND = Table(
    "latency_per_second",
    "Latency quantiles of the messages scheduled in each second, from histograms merged over agents.",
    (
        _RUN, _CELL, _REPEAT, _COUNTED, _SECOND, _PHASE, _MEASURE, _GROUP,
        _count("count", "samples"),
        *(_quantile(q) for q in QUANTILES if q.per_second),
        Column("max_ns", "long", "ns", "largest sample, exact"),
        Column("mean_ns", "double", "ns", "sum of samples / samples"),
    ),
)  # fmt: skip

LATENCY_PER_PHASE = Table(
    "latency_per_phase",
    "Latency quantiles of one phase of one repeat; repeat 0 is all counted repeats of the cell merged.",
    (
        _RUN, _CELL, _REPEAT, _COUNTED, _PHASE, _MEASURE, _GROUP,
        _count("count", "samples"),
        _count("negative", "samples below zero: counted, kept out of the quantiles; negative send_delay counts with publish_latency"),
        *map(_quantile, QUANTILES),
        Column("min_ns", "long", "ns", "smallest sample, exact"),
        Column("max_ns", "long", "ns", "largest sample, exact"),
        Column("mean_ns", "double", "ns", "sum of samples / samples"),
    ),
)  # fmt: skip

LATENCY_HISTOGRAM = Table(
    "latency_histogram",
    "The merged histogram behind latency_per_phase, for the percentile spectrum.",
    (
        _RUN, _CELL, _REPEAT, _COUNTED, _PHASE, _MEASURE, _GROUP,
        Column("bucket", "array<int>", "1", "bucket numbers with a count, ascending"),
        Column("count", "array<long>", "1", "samples in each of those buckets"),
        Column("sub_bucket_bits", "int", "1", "resolution of the bucket numbers"),
    ),
)  # fmt: skip

LATENCY_HEAT = Table(
    "latency_heat",
    "Samples per second and coarse latency band, for the heat map: band = bucket >> (sub_bucket_bits - 2), four per octave. Measures from the scheduled time only.",
    (
        _RUN, _CELL, _REPEAT, _COUNTED, _SECOND, _PHASE, _MEASURE, _GROUP,
        Column("band", "int", "1", "coarse band"),
        Column("lower_ns", "long", "ns", "smallest value of the band"),
        Column("upper_ns", "long", "ns", "largest value of the band"),
        _count("count", "samples"),
    ),
)  # fmt: skip

DELIVERY = Table(
    "delivery",
    "What became of every message, by group (one row with an empty group where a cell has no consumers).",
    (
        _RUN, _CELL, _REPEAT, _COUNTED, _GROUP,
        _count("sent", "messages handed to a client"),
        _count("acknowledged", "sends acknowledged"),
        _count("rejected", "sends rejected"),
        _count("unknown", "sends whose outcome is unknown"),
        _count("received", "intact deliveries of this execution, duplicates included"),
        _count("delivered", "different messages received"),
        _count("lost", "acknowledged, never received; known only when drained"),
        _count("duplicated", "deliveries beyond the first of each message"),
        _count("redelivered", "of the deliveries, those the broker itself marked as repeated"),
        _count("reordered", "messages that arrived after a later one of their lane, within one consumer and epoch; redeliveries do not count"),
        _count("corrupted", "deliveries with a wrong checksum or length"),
        _count("unexpected", "deliveries never sent by this execution"),
        _count("recovered", "unknown sends that did arrive"),
        _count("unknown_absent", "unknown sends that did not arrive"),
        _count("aborted_read", "rejected sends that did arrive"),
        Column("drained", "boolean", "", "every lane's last acknowledged message was seen, or the broker said nothing is left"),
    ),
)  # fmt: skip

NO_GROUP = ""  # of `group`: a cell without consumers
# Counts of `delivery` that are the same for every group, and the only ones that say anything where there is none.
OF_SENDS = ("sent", "acknowledged", "rejected", "unknown")

LOST_RANGE = Table(
    "lost_range",
    "The lost messages by name, at most 1000 ranges per repeat and group.",
    (
        _RUN, _CELL, _REPEAT, _COUNTED, _GROUP,
        Column("producer", "int", "1", "number of the producer"),
        Column("partition", "int", "1", "cell-wide partition number"),
        Column("first", "long", "1", "first lost sequence number"),
        Column("last", "long", "1", "last lost sequence number"),
    ),
)  # fmt: skip

AGENT_HEALTH = Table(
    "agent_health",
    "Was the load generator itself the limit? One row per agent, measure phase only.",
    (
        _RUN, _CELL, _REPEAT, _COUNTED,
        Column("agent", "string", "", "load process"),
        Column("role", "string", "", "producer or consumer"),
        Column("seconds", "long", "s", "seconds of the measure phase with evidence"),
        Column("cpu_cores_mean", "double", "cores", "CPU time / elapsed time"),
        Column("cpu_cores_max", "double", "cores", "largest value of one second"),
        Column("send_delay_p99_ns", "long", "ns", "99th percentile of send_delay, 0 for consumers"),
        _count("buffer_full", "times the client took less than offered"),
        _count("behind_max", "most messages due but not sent at the end of a second"),
        _count("in_flight_max", "most messages unsettled at the end of a second"),
        Column("longest_pause_ns", "long", "ns", "longest time in which the process did not run, beyond what it slept on purpose", since="0.2.0", default=0),
        Column("longest_pause_unix_s", "long", "s", "second in which that pause ended", since="0.2.0", default=0),
    ),
)  # fmt: skip

READING_PER_SECOND = Table(
    "reading_per_second",
    "Readings aligned to seconds: gauges as the mean of the second, counters (_total) as the increase per second.",
    (
        _RUN, _CELL, _REPEAT, _COUNTED, _SECOND, _PHASE,
        Column("subject", "string", "", "host, process:<name>, jvm:<node>, broker:<node>"),
        Column("metric", "string", "", "name of the quantity; counters lose _total and gain _per_s"),
        Column("value", "double", "", "value in `unit`"),
        Column("unit", "string", "", "unit of the value"),
    ),
)  # fmt: skip

LOG_P99 = "_log_p99"  # ends the names of series that are logarithms
_LABELS = (
    f"short (fewer than {steady.FEWEST_SECONDS} seconds); warming or slowing (change over the phase above"
    f" {_percent(steady.TREND_LIMIT)}, p99 above a factor {math.exp(steady.TREND_LIMIT_LOG):.2g}, and above"
    f" {steady.STANDARD_ERRORS[0]:g} standard errors of a line through many seconds; through few, above what Student gives for"
    f" the same chance, {steady.standard_errors(5):.2g} for five); none (variation above {steady.VARIATION_LIMIT:g} +"
    f" {steady.COUNTS_SCATTER:g} / sqrt(mean), of a logarithm {steady.VARIATION_LIMIT_LOG:g}); flat"
)
STEADINESS = Table(
    "steadiness",
    "Is one number for the measure phase honest? One row per series.",
    (
        _RUN, _CELL, _REPEAT, _COUNTED,
        Column("series", "string", "", "sent, received, publish_latency_log_p99 or end_to_end_latency_log_p99 (natural logarithm of nanoseconds), per whole second of the measure phase; groups together, latencies of the worst group"),
        Column("seconds", "long", "s", "whole seconds used"),
        Column("mean", "double", "", "mean over the seconds"),
        Column("variation", "double", "1", "standard deviation / mean; of a logarithm the standard deviation itself"),
        Column("slope_per_minute", "double", "1", "least-squares slope / mean, per minute; of a logarithm the slope itself"),
        Column("change_second", "long", "s", f"first second after the largest shift of the mean (CUSUM above its 95 % limit, {steady.CUSUM_LIMIT:g}, and above {_percent(steady.SHIFT_LIMIT)}, of a logarithm {steady.SHIFT_LIMIT_LOG:g}), -1 without one"),
        Column("label", "string", "", _LABELS),
    ),
)  # fmt: skip

FAULT = Table(
    "fault",
    "What each fault that was planned and happened did; counts are those of its whole execution.",
    (
        _RUN, _CELL, _REPEAT, _COUNTED,
        Column("number", "int", "1", "number of the fault in its execution, in order of time, from 1"),
        Column("fault", "string", "", "kind of fault: kill (SIGKILL of a node's process)"),
        Column("node", "string", "", "node the fault hit"),
        Column("nodes", "int", "1", "nodes of its cluster; 0 where it was not written", since="0.4.0", default=0),
        Column("was_leading", "boolean", "", "whether that node took writes for the first destination, as the broker said just before"),
        Column("at_s", "double", "s", "when the fault hit it - beginning of the measure phase"),
        Column("end_s", "double", "s", "when it ended - beginning of the measure phase; of kill, when the node's process was started again; null where it lasts as long as the execution", nullable=True, since="0.2.0"),
        Column("rest_s", "double", "s", "end of the measure phase - when the fault hit it"),
        Column("took_over", "string", "", "node that the broker named as the next leader; empty where none took over or none had to"),
        Column("took_over_after_s", "double", "s", "when it was first named so - when the fault hit it; an upper bound: the broker is asked again 50 ms after each answer, and an answer may take seconds while nodes elect", nullable=True),
        Column("publish_outage_s", "double", "s", "longest time without any acknowledgement that began between the fault and the end of the measure phase: largest difference of neighbours among the fault and each acknowledgement after it; where none came after the end of the measure phase, that end stands for it", nullable=True),
        Column("publish_outage_lane_s", "double", "s", "the same of the worst lane (producer x partition); with few messages a lane pauses without any fault", nullable=True),
        Column("publish_recovered", "boolean", "", "whether an acknowledgement ended that outage (of all lanes together)", nullable=True),
        Column("delivery_outage_s", "double", "s", "longest time without any delivery, likewise, of the worst group; null without consumers", nullable=True),
        Column("delivery_outage_lane_s", "double", "s", "the same of the worst lane and group", nullable=True),
        Column("delivery_recovered", "boolean", "", "whether a delivery ended that outage (of all lanes together); null without consumers", nullable=True),
        _count("rejected", "sends of the execution that were certainly not written"),
        _count("unknown", "sends of the execution whose outcome is unknown"),
        _count("lost", "acknowledged, never received, all groups; known only when drained"),
        _count("duplicated", "deliveries beyond the first of each message, all groups"),
        Column("drained", "boolean", "", "there were consumers, and every group was drained"),
    ),
)  # fmt: skip

RUN_SUMMARY = Table(
    "run_summary",
    "One figure per cell and metric with its interval over counted executions (measure phase).",
    (
        _RUN, _CELL,
        Column("label", "string", "", "what differs from the other cells"),
        Column("broker", "string", "", "broker"),
        Column("durability", "string", "", "level computed from the settings read back"),
        Column("metric", "string", "", "; ".join(f"{m.key}: {m.meaning}" for m in METRICS.values()) + ". Rates over the whole seconds of the measure phase; counts of deliveries only where there are consumers, lost only after a drain"),
        Column("unit", "string", "", "unit of the values"),
        Column("n", "int", "1", "counted executions with a value"),
        Column("median", "double", "", "median over them"),
        Column("low", "double", "", "lower end of the 95 % bootstrap interval of the median, the smallest value when n < 5"),
        Column("high", "double", "", "upper end likewise"),
        Column("values", "array<double>", "", "the values of the counted executions, in order of repeat"),
        Column("set_aside", "int", "1", "executions with a value that were set aside", since="0.2.0", default=0),
        Column("median_with_set_aside", "double", "", "median over all executions with a value, those set aside included", since="0.2.0", default=0.0),
    ),
)  # fmt: skip

FEWEST_FOR_CLAIM = 4  # pairs of repeats: with fewer even a tenfold difference is rarely beyond chance

COMPARISON = Table(
    "comparison",
    "Cells two by two. The method is described in statistics.md.",
    (
        _RUN,
        Column("cell_a", "string", "", "first cell"),
        Column("cell_b", "string", "", "second cell"),
        Column("metric", "string", "", "as in run_summary"),
        Column("n_a", "int", "1", "repeats of the first with a value"),
        Column("n_b", "int", "1", "repeats of the second with a value"),
        Column("ratio", "double", "1", "a / b: geometric mean of the ratios within each repeat"),
        Column("low", "double", "1", "lower end of the ratio's interval, which holds the true ratio in at least 95 of 100 runs; wider the more cells are compared; null with a single pair", nullable=True),
        Column("high", "double", "1", "upper end likewise", nullable=True),
        Column("answer", "string", "", f"higher, lower (the interval leaves out 1, and the ratio is beyond the smallest difference); same (the whole interval is within the smallest difference); cannot tell, also with fewer than {FEWEST_FOR_CLAIM} pairs and where the verdict on a cell is not valid"),
        Column("same_durability", "boolean", "", "false: the cells promise different things"),
        Column("pairs", "int", "1", "repeats in which both cells have a value", nullable=True, since="0.2.0"),
        Column("chance", "double", "1", "chance of such a ratio, or one further from 1, between identical cells, corrected for the number of comparisons in this metric (Holm); null where no answer was possible", nullable=True, since="0.2.0"),
        Column("smallest_difference", "double", "1", "share from which a difference is worth calling: smallest_difference of the workload", nullable=True, since="0.2.0"),
        Column("reason", "string", "", "why it cannot be told; empty where it can", since="0.2.0", default=""),
    ),
)  # fmt: skip

QUARANTINED_ROW = Table(
    "quarantined_row",
    "Rows of evidence that broke a rule and are in no other table.",
    (
        _RUN,
        Column("table", "string", "", "evidence table the row came from"),
        _CELL, _REPEAT, _COUNTED,
        Column("reason", "string", "", "the rules it broke"),
        Column("row", "string", "", "the row as JSON"),
        Column("file", "string", "", "file of evidence that it is in, within the run directory", since="0.2.0", default=""),
        Column("file_row", "long", "1", "its place in that file, from 0; -1 where it is not known", since="0.2.0", default=-1),
    ),
)  # fmt: skip

UNREADABLE_SEGMENT = Table(
    "unreadable_segment",
    "Files of evidence that could not be read. They stay where they are; nothing of them is in any other table.",
    (
        _RUN,
        Column("file", "string", "", "path of the file within the run directory"),
        Column("table", "string", "", "evidence table it belongs to"),
        Column("execution", "string", "", "execution that wrote it, as c01-r2"),
        Column("reason", "string", "", "why it could not be read"),
    ),
)

EVIDENCE_FILE = Table(
    "evidence_file",
    "Every file of evidence that the analysis looked at, with what it found.",
    (
        _RUN,
        Column("file", "string", "", "path of the file within the run directory"),
        Column("table", "string", "", "evidence table"),
        Column("execution", "string", "", "execution that wrote it, as c01-r2"),
        Column("bytes", "long", "B", "size of the file"),
        Column("modified_unix_ns", "long", "ns", "when the file was last written, UNIX clock"),
        Column("rows", "long", "1", "rows of the file; 0 where it cannot be read"),
        Column(
            "set_aside", "long", "1", "of these, rows that broke a rule (`quarantined_row`)", since="0.2.0", default=0
        ),
        Column("reason", "string", "", "why it cannot be read; empty where it can"),
    ),
)

RESULT_TABLES = {
    t.name: t
    for t in (
        RATE_PER_SECOND, LATENCY_PER_SECOND, LATENCY_PER_PHASE, LATENCY_HISTOGRAM, LATENCY_HEAT, DELIVERY, LOST_RANGE,
        AGENT_HEALTH, READING_PER_SECOND, STEADINESS, FAULT, RUN_SUMMARY, COMPARISON, QUARANTINED_ROW,
        UNREADABLE_SEGMENT, *DERIVED_TABLES, LATENCY_SPECTRUM,
    )
}  # fmt: skip
STORED_TABLES = {**RESULT_TABLES, EVIDENCE_FILE.name: EVIDENCE_FILE}  # all that tables/ holds: the last is for the lake
