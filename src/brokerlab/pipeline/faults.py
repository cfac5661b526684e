"""fault: what each planned fault did. Outages are made of single messages (pipeline.silence); the rest is a handful of rows.

An outage is the longest time without an acknowledgement (or delivery) that begins between the fault and the end of the
measure phase: the largest difference of neighbours among the fault and every acknowledgement after it. Where none comes
after that end, the end stands for the one that would have ended the outage: it had not recovered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from brokerlab.model.events import FaultBegun, FaultEnded, TookOver, event_of
from brokerlab.model.execution_id import ExecutionId
from brokerlab.pipeline.silence import DELIVERY, PUBLISH
from brokerlab.results.tables import NO_GROUP

Row = Mapping[str, Any]


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
    nodes: int = 0  # of the cluster; 0 where it was not written


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
                nodes=event.nodes,
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


def fault_rows(
    faults: Iterable[BegunFault], found: Iterable[Row], delivery: Iterable[Row], events: Iterable[Row]
) -> list[dict[str, Any]]:
    """Rows of the table of that name. `found` are rows of silence.OUTAGE with their execution; a side without any message was out all the time."""
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
                "nodes": fault.nodes,
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
    """What took over from the node after this fault and before the next one, which may hit the same node again."""
    begun = 0
    for row in sorted(events, key=lambda e: e["at_mono_ns"]):
        if (row["cell"], row["repeat"]) == (fault.cell, fault.repeat):
            event = event_of(row)
            begun += isinstance(event, FaultBegun)
            if isinstance(event, TookOver) and event.fault_node == fault.node and begun == fault.number:
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
