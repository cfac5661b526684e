"""A run with a planned fault: what the fault did is said first, and what it must do to any run is no reason against it.

A node that dies by plan is no failure of the broker. Delivery is judged as ever: a lost message is lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from brokerlab.judge.findings import Findings, reason
from brokerlab.judge.summary import Row
from brokerlab.results.fault_text import fault_sentence
from brokerlab.results.verdict import Reason

EXPECTED = "; expected of a run with a planned fault: rates and latencies include the outage"


def planned_faults(f: Findings) -> Iterable[Reason]:
    """What each fault did, as a note; a planned fault that never happened makes a finished execution invalid."""
    rows = f.rows("fault")
    for e in f.plan.order:
        planned = f.cell(e.cell).faults
        happened = [r for r in rows if (r["cell"], r["repeat"]) == (e.cell, e.repeat)]
        for row in happened:
            yield reason("planned_fault", "note", row, fault_sentence(row), row["publish_outage_s"])
        if f.execution_state(e.cell, e.repeat).state == "finished" and len(happened) < len(planned):
            text = f"{len(happened)} of {len(planned)} planned faults happened"
            where: Row = {"cell": e.cell, "repeat": e.repeat}
            yield reason("fault_missing", "invalid", where, text, float(len(happened)), float(len(planned)))


def as_expected(f: Findings, reasons: Iterable[Reason]) -> Iterable[Reason]:
    """The reasons; about executions in which a fault happened they become notes that say why."""
    struck = {(row["cell"], row["repeat"]) for row in f.rows("fault")}
    for found in reasons:
        if (found.cell, found.repeat) in struck:
            yield found.model_copy(update={"weight": "note", "text": found.text + EXPECTED})
        else:
            yield found
