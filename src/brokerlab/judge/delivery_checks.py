"""May anything be said about which messages arrived, and are latencies real times?"""

from __future__ import annotations

from collections.abc import Iterable

from brokerlab.judge.findings import Findings
from brokerlab.judge.reasons import DELIVERY_AND_LATENCIES, EVERYTHING, LATENCIES, Found, check
from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.tables import NO_GROUP


@check(
    "drain_incomplete", weight="cannot tell", cause="broker", affects=DELIVERY_AND_LATENCIES,
    rule="a group was not drained: what is missing may still be on its way",
)  # fmt: skip
def drain_incomplete(f: Findings) -> Iterable[Found]:
    for row in f.rows("delivery"):
        if not row["drained"]:
            absent = row["lost"]
            text = f"group {row['group']} was not drained: {absent:,} acknowledged messages were not seen, which is not yet 'lost'"
            yield Found(ExecutionId.of(row), text, float(absent), 0.0)


@check(
    "no_consumers", weight="note", cause="load", affects=(),
    rule="a cell without consumers: nothing can be said about lost messages",
)  # fmt: skip
def no_consumers(f: Findings) -> Iterable[Found]:
    for row in f.rows("delivery"):
        if row["drained"] and row["group"] == NO_GROUP:
            yield Found(ExecutionId.of(row), "no consumers: nothing can be said about lost messages")


@check(
    "nothing_received", weight="cannot tell", cause="broker", affects=EVERYTHING,
    rule="a group received nothing of what was acknowledged",
)  # fmt: skip
def nothing_received(f: Findings) -> Iterable[Found]:
    for row in f.rows("delivery"):
        if row["group"] and row["received"] == 0 and row["acknowledged"] > 0:
            text = f"group {row['group']} received nothing at all of {row['acknowledged']:,} acknowledged messages"
            yield Found(ExecutionId.of(row), text, 0.0, float(row["acknowledged"]))


@check(
    "negative_latency", weight="invalid", cause="machine", affects=LATENCIES,
    rule="any latency sample below zero: the clocks disagree by more than the latency",
)  # fmt: skip
def negative_latency(f: Findings) -> Iterable[Found]:
    for row in f.rows("latency_per_phase"):
        if row["repeat"] > 0 and row["negative"] > 0:
            text = f"{row['negative']:,} samples of {row['measure']} below zero: the clocks disagree by more than the latency"
            yield Found(ExecutionId.of(row), text, float(row["negative"]), 0.0)


@check(
    "counted_differently", weight="invalid", cause="evidence", affects=EVERYTHING,
    rule="single messages were kept, and they give another count or other latencies than ranges and histograms do",
)  # fmt: skip
def counted_differently(f: Findings) -> Iterable[Found]:
    for row in f.rows("recount"):
        if row["difference"]:
            of = f" of group {row['group']}" if row["group"] else ""
            text = (
                f"{row['figure'].replace('_', ' ')}{of}: {row['as_told']:,} by ranges and histograms, {row['by_message']:,} by"
                f" single messages, {row['difference']:,} apart: one of the two ways of counting is wrong"
            )
            yield Found(ExecutionId.of(row), text, float(row["difference"]), 0.0)
