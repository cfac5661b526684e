"""A run with a planned fault: what the fault did is said first, and what it must do to any run is no reason against it.

A node that dies by plan is no failure of the broker. Delivery is judged as ever: a lost message is lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from brokerlab.judge.findings import Findings
from brokerlab.judge.reasons import EVERYTHING, Found, check
from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.fault_text import fault_sentence
from brokerlab.results.verdict import Reason

# What a planned fault does to any run: said, not held against it.
EXPECTED_CODES = ("load_not_delivered", "agent_saturated", "send_delay", "not_steady")
EXPECTED = "; expected of a run with a planned fault: rates and latencies include the outage"


@check("planned_fault", weight="note", cause="load", affects=(), rule="a planned fault happened: what it did")
def planned_fault(f: Findings) -> Iterable[Found]:
    for row in f.rows("fault"):
        yield Found(ExecutionId.of(row), fault_sentence(row), row["publish_outage_s"])


@check(
    "fault_missing", weight="invalid", cause="load", affects=EVERYTHING,
    rule="a finished execution in which a planned fault did not happen",
)  # fmt: skip
def fault_missing(f: Findings) -> Iterable[Found]:
    for execution in f.executions:
        planned = len(f.cell(execution.cell).faults)
        happened = sum(ExecutionId.of(r) == execution for r in f.rows("fault"))
        if f.is_finished(execution) and happened < planned:
            text = f"{happened} of {planned} planned faults happened"
            yield Found(execution, text, float(happened), float(planned))


def as_expected(f: Findings, reasons: Iterable[Reason]) -> list[Reason]:
    """The reasons; what a fault must do to the execution in which it happened becomes a note that says so."""
    faulted = {(row["cell"], row["repeat"]) for row in f.rows("fault")}
    return [
        r.model_copy(update={"weight": "note", "text": r.text + EXPECTED})
        if r.code in EXPECTED_CODES and r.weight != "note" and (r.cell, r.repeat) in faulted
        else r
        for r in reasons
    ]
