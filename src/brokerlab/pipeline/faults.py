"""fault: what each planned fault did. Outages from single messages in Spark; the rest is a handful of rows.

An outage is the longest time without an acknowledgement (or delivery) that begins between the fault and the end of the
measure phase: the largest difference of neighbours among the fault and every acknowledgement after it. Where none comes
after that end, the end stands for the one that would have ended the outage: it had not recovered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from brokerlab.evidence.tables import MESSAGE
from brokerlab.model.events import FaultBegun, FaultEnded, TookOver, event_of
from brokerlab.model.execution_id import ExecutionId
from brokerlab.pipeline.schema import declared
from brokerlab.results.tables import NO_GROUP

Row = Mapping[str, Any]
PUBLISH, DELIVERY = "publish", "delivery"
_FAULT = ("cell", "repeat", "number")


@dataclass(frozen=True)
class BegunFault:
    """One fault that happened: the journal's `fault_begun`. `number` counts the faults of an execution from 1."""

    cell: str
    repeat: int
    number: int
    fault: str
    node: str
    was_leading: bool
    from_mono_ns: int
    measure_from_mono_ns: int
    until_mono_ns: int  # end of the measure phase
    ended_mono_ns: int | None = None  # None where it lasts as long as the execution


def begun_faults(events: Iterable[Row]) -> list[BegunFault]:
    """The faults that happened, by execution and time."""
    found: list[BegunFault] = []
    for row in sorted(events, key=lambda e: (e["cell"], e["repeat"], e["at_mono_ns"])):
        event = event_of(row)
        if isinstance(event, FaultEnded):
            _end(found, ExecutionId.of(row), event)
        if not isinstance(event, FaultBegun):
            continue
        where = (row["cell"], row["repeat"])
        found.append(
            BegunFault(
                *where,
                number=1 + sum((s.cell, s.repeat) == where for s in found),
                fault=event.fault,
                node=event.node,
                was_leading=event.was_leading,
                from_mono_ns=event.begun_mono_ns,
                measure_from_mono_ns=event.measure_from_mono_ns,
                until_mono_ns=event.measure_until_mono_ns,
            )
        )
    return found


def _end(faults: list[BegunFault], execution: ExecutionId, event: FaultEnded) -> None:
    """Note the end in the first fault of this kind and node that has none yet."""
    for i, fault in enumerate(faults):
        is_its = (fault.cell, fault.repeat, fault.fault, fault.node) == (
            execution.cell,
            execution.repeat,
            event.fault,
            event.node,
        )
        if is_its and fault.ended_mono_ns is None:
            faults[i] = replace(fault, ended_mono_ns=event.ended_mono_ns)
            return


def begun_faults_table(faults: Sequence[BegunFault]) -> pa.Table:
    """What `outages` wants to know of them, for Spark."""
    types = {"cell": pa.string(), "repeat": pa.int32(), "number": pa.int32(), "from_mono_ns": pa.int64(),
             "until_mono_ns": pa.int64()}  # fmt: skip
    return pa.table({name: pa.array([getattr(f, name) for f in faults], of) for name, of in types.items()})


def outages(messages: DataFrame, faults: DataFrame) -> DataFrame:
    """(cell, repeat, number, side, whole_ns, lane_ns, recovered): the longest outage of all lanes together and of the
    worst lane, for side publish and delivery; of the worst group. `recovered`: the former ended with a message. `faults`
    has the columns of `begun_faults_table`."""
    delivered = sf.col("kind") == "delivery"
    points = (
        declared(messages, MESSAGE)
        .where(delivered | (sf.col("outcome") == "acknowledged"))
        .withColumn("side", sf.when(delivered, sf.lit(DELIVERY)).otherwise(sf.lit(PUBLISH)))
        .join(sf.broadcast(faults), ["cell", "repeat"])
        .withColumn("at", sf.greatest("at_mono_ns", "from_mono_ns"))
    )
    stream = (*_FAULT, "side", "group")
    groups = _longest(points, stream).groupBy(*_FAULT, "side")
    whole = groups.agg(sf.max("longest_ns").alias("whole_ns"), sf.max_by("recovered", "longest_ns").alias("recovered"))
    lanes = _longest(points, (*stream, "producer", "partition"))
    worst = lanes.groupBy(*_FAULT, "side").agg(sf.max("longest_ns").alias("lane_ns"))
    return whole.join(sf.broadcast(worst), [*_FAULT, "side"])


def _longest(points: DataFrame, key: tuple[str, ...]) -> DataFrame:
    before = sf.coalesce(sf.lag("at").over(Window.partitionBy(*key).orderBy("at")), "from_mono_ns")
    steps = points.select(*key, "at", "until_mono_ns", before.alias("before")).where("before < until_mono_ns")
    gap_ns, last_ns = sf.max(sf.col("at") - sf.col("before")), sf.max("until_mono_ns") - sf.max("at")
    return steps.groupBy(*key).agg(
        sf.greatest(gap_ns, last_ns).alias("longest_ns"), (gap_ns >= last_ns).alias("recovered")
    )


def fault_rows(
    faults: Iterable[BegunFault], found: Iterable[Row], delivery: Iterable[Row], events: Iterable[Row]
) -> list[dict[str, Any]]:
    """Rows of the table of that name. `found` are rows of `outages`; a side without any message was out all the time."""
    by_side = {(r["cell"], r["repeat"], r["number"], r["side"]): r for r in found}
    delivered = list(delivery)
    journal = list(events)
    rows = []
    for fault in faults:
        of_fault = [r for r in delivered if (r["cell"], r["repeat"]) == (fault.cell, fault.repeat)]
        rows.append(
            {
                "cell": fault.cell,
                "repeat": fault.repeat,
                "number": fault.number,
                "fault": fault.fault,
                "node": fault.node,
                "was_leading": fault.was_leading,
                "at_s": (fault.from_mono_ns - fault.measure_from_mono_ns) / 1e9,
                "end_s": None
                if fault.ended_mono_ns is None
                else (fault.ended_mono_ns - fault.measure_from_mono_ns) / 1e9,
                "rest_s": (fault.until_mono_ns - fault.from_mono_ns) / 1e9,
                **_take_over(fault, journal),
                **_outage_columns(fault, by_side, PUBLISH, True),
                **_outage_columns(fault, by_side, DELIVERY, any(r["group"] for r in of_fault)),
                "rejected": max((r["rejected"] for r in of_fault), default=0),
                "unknown": max((r["unknown"] for r in of_fault), default=0),
                "lost": sum(r["lost"] for r in of_fault),
                "duplicated": sum(r["duplicated"] for r in of_fault),
                "drained": bool(of_fault) and all(r["drained"] and r["group"] != NO_GROUP for r in of_fault),
            }
        )
    return rows


def _take_over(fault: BegunFault, events: Iterable[Row]) -> dict[str, Any]:
    for row in events:
        if (row["cell"], row["repeat"]) == (fault.cell, fault.repeat):
            event = event_of(row)
            if isinstance(event, TookOver) and event.fault_node == fault.node:
                return {"took_over": event.node, "took_over_after_s": event.after_s}
    return {"took_over": "", "took_over_after_s": None}


def _outage_columns(
    fault: BegunFault, by_side: Mapping[tuple[str, int, int, str], Row], side: str, has_clients: bool
) -> dict[str, float | bool | None]:
    """Null without clients on that side: a cell without consumers has no delivery outage."""
    row = by_side.get((fault.cell, fault.repeat, fault.number, side))
    rest_ns = fault.until_mono_ns - fault.from_mono_ns
    whole, lane = (row["whole_ns"], row["lane_ns"]) if row is not None else (rest_ns, rest_ns)
    return {
        f"{side}_outage_s": whole / 1e9 if has_clients else None,
        f"{side}_outage_lane_s": lane / 1e9 if has_clients else None,
        f"{side}_recovered": (row is not None and row["recovered"]) if has_clients else None,
    }
