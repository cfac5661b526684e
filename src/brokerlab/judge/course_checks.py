"""Did every execution run its course: did it finish, last long enough, hold its level and leave whole evidence?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

from brokerlab.judge import limits
from brokerlab.judge.figures import Row, measured_bounds
from brokerlab.judge.findings import Findings
from brokerlab.judge.reasons import EVERYTHING, RATES_AND_LATENCIES, Found, check
from brokerlab.judge.tailing import any_late
from brokerlab.model.events import AgentDied, BrokerFailed, ConsumersStarted, Death, LeftBehind, NodeDied, event_of
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.log_lines import last_words
from brokerlab.results.tables import LOG_P99
from brokerlab.results.verdict import Weight

LAST_LINES = 3
RECEIVING = ("received", "end_to_end")  # how series of `steadiness` begin that are of consumers


def _deaths(f: Findings, kind: type[Death], sentence: str) -> Iterable[Found]:
    for row in f.events:
        event = event_of(row)
        if isinstance(event, kind):
            said = last_words(event.text, LAST_LINES)
            tail = ": " + " | ".join(said) if said else ""
            yield Found(ExecutionId.of(row), sentence.format(name=", ".join(event.names)) + tail)


@check("broker_died", weight="invalid", cause="broker", affects=EVERYTHING, rule="a node ended while it was needed")
def broker_died(f: Findings) -> Iterable[Found]:
    return _deaths(f, NodeDied, "broker node {name} died while it was needed")


@check("agent_died", weight="invalid", cause="agent", affects=EVERYTHING, rule="an agent ended while it was needed")
def agent_died(f: Findings) -> Iterable[Found]:
    return _deaths(f, AgentDied, "agent {name} died while it was needed")


@check("broker_failed", weight="invalid", cause="broker", affects=EVERYTHING, rule="the broker failed, its nodes alive")
def broker_failed(f: Findings) -> Iterable[Found]:
    return _deaths(f, BrokerFailed, "the broker failed")


@check("failed", weight="invalid", cause="broker", affects=EVERYTHING, rule="an execution failed under load")
def failed(f: Findings) -> Iterable[Found]:
    for execution in f.executions:
        state = f.state.of(execution)
        if state.state == "failed":
            yield Found(execution, f"failed: {state.reason}" if state.reason else "failed")


@check(
    "no_evidence", weight="invalid", cause="evidence", affects=EVERYTHING,
    rule="a finished execution left no evidence that can be read, or the whole run did",
)  # fmt: skip
def no_evidence(f: Findings) -> Iterable[Found]:
    if not f.with_evidence and not f.unreadable:
        yield Found(None, "there is no evidence at all: nothing was measured")
    for execution in f.executions:
        if f.is_finished(execution) and str(execution) not in f.with_evidence:
            yield Found(execution, "finished, but left no evidence that can be read")


@check(
    "repeat_missing", weight="cannot tell", cause="evidence", affects=EVERYTHING,
    rule="a repeat was interrupted or has not run; a note where other repeats of the cell finished",
)  # fmt: skip
def repeat_missing(f: Findings) -> Iterable[Found]:
    for execution in f.executions:
        state = f.state.of(execution)
        if state.state in ("finished", "failed"):
            continue
        others = any(f.is_finished(e) for e in f.of_cell(execution.cell))
        words = {"waiting": "has not run", "running": "was cut off"}
        happened = words.get(state.state, f"was {state.state}") + (f": {state.reason}" if state.reason else "")
        yield Found(execution, happened, weight="note" if others else None)


@check(
    "too_short", weight="cannot tell", cause="load", affects=RATES_AND_LATENCIES,
    rule=f"fewer than {limits.SHORTEST_MEASURE_S} s measured, or less than {limits.CUT_SHORT_SHARE:.0%} of the plan",
)  # fmt: skip
def too_short(f: Findings) -> Iterable[Found]:
    for execution, (first, last) in sorted(measured_bounds(f.rows("rate_per_second")).items(), key=lambda i: str(i[0])):
        cell = f.cell(execution.cell)
        planned = cell.phases.measure_s if cell.producers.messages is None else 0.0  # its number of messages ends it
        labelled = last - first + 2 if last > first else 1
        if labelled < limits.SHORTEST_MEASURE_S:
            text = f"only {labelled} s were measured; at least {limits.SHORTEST_MEASURE_S} s are needed"
            yield Found(execution, text, labelled, limits.SHORTEST_MEASURE_S)
        elif labelled < limits.CUT_SHORT_SHARE * planned - 1:
            yield Found(execution, f"{labelled} s were measured where {planned:.0f} s were planned", labelled, planned)


@check(
    "not_steady", weight="cannot tell", cause="broker", affects=RATES_AND_LATENCIES,
    rule="`steadiness` is labelled warming, slowing or none (a p99 with label none is a note; bursts, ramps and backlogs are"
         " exempt, and what is received where a set of consumers starts later); a rate affects rates and latencies, a latency the latencies alone",
)  # fmt: skip
def not_steady(f: Findings) -> Iterable[Found]:
    for row in f.rows("steadiness"):
        cell = f.cell(row["cell"])
        on_purpose = cell.producers.schedule.arrival in ("burst", "ramp") or (
            any_late(cell) if row["series"].startswith(RECEIVING) else cell.consumers.start == "after_backlog"
        )
        if row["label"] in ("flat", "short") or on_purpose:
            continue
        is_rate = not row["series"].endswith(LOG_P99)
        weight: Weight = "note" if row["label"] == "none" and not is_rate else "cannot tell"
        text = _rate_in_words(row) if is_rate else _latency_in_words(row)
        if row["label"] == "warming":
            text += "; a longer phases.warm_up may help"
        affects = None if is_rate else ("latencies",)
        yield Found(ExecutionId.of(row), text, row["variation"], weight=weight, affects=affects)  # type: ignore[arg-type]


def _rate_in_words(row: Row) -> str:
    if row["label"] == "none":
        return f"{row['series']} per second has no steady level: it varies by {row['variation']:.0%} over {row['seconds']} s"
    change = row["slope_per_minute"] * row["seconds"] / 60
    return f"{row['series']} per second is {row['label']}: {change:+.0%} over {row['seconds']} s"


def _latency_in_words(row: Row) -> str:
    """Of a series of logarithms: a difference is a factor."""
    name = f"p99({row['series'].removesuffix(LOG_P99)})"
    if row["label"] == "none":
        factor = math.exp(row["variation"])
        return f"{name} of a second has no steady level: it varies by a factor of {factor:.1f} over {row['seconds']} s"
    change = row["slope_per_minute"] * row["seconds"] / 60
    way = "rises" if change > 0 else "falls"
    return f"{name} of a second is {row['label']}: it {way} by a factor of {math.exp(abs(change)):.1f} over {row['seconds']} s"


@check(
    "backlog_not_reached", weight="cannot tell", cause="load", affects=RATES_AND_LATENCIES,
    rule="a set of consumers was to start while producers go on, at a time or after a number of bytes, and they had sent"
         " everything before",
)  # fmt: skip
def backlog_not_reached(f: Findings) -> Iterable[Found]:
    for row in f.events:
        event = event_of(row)
        if isinstance(event, ConsumersStarted) and not event.reached:
            sets = f.cell(row["cell"]).consumer_sets
            asked = next((of.start_words() for of in sets if of.name == event.consumer_set), "before that")
            name = f"set {event.consumer_set}" if event.consumer_set else "the consumers"
            text = f"{name} started when everything was sent ({event.sent_bytes:,} bytes); the workload asks for a start {asked}"
            yield Found(ExecutionId.of(row), text, float(event.sent_bytes))


@check(
    "segment_unreadable", weight="cannot tell", cause="evidence", affects=EVERYTHING,
    rule="a segment of evidence could not be read (`unreadable_segment`)",
)  # fmt: skip
def segment_unreadable(f: Findings) -> Iterable[Found]:
    for name, text in f.unreadable:
        yield Found(_execution_named(name), f"a segment could not be read: {text}")


@check(
    "segment_left_out", weight="note", cause="evidence", affects=(),
    rule="a file of evidence is there twice, or belongs to another run or attempt; each segment of the run counts once",
)  # fmt: skip
def segment_left_out(f: Findings) -> Iterable[Found]:
    for name, text in f.left_out:
        yield Found(_execution_named(name), f"a file of evidence was left out: {text}")


def _execution_named(name: str) -> ExecutionId | None:
    try:
        return ExecutionId.parse(name)
    except ValueError:
        return None


@check(
    "rows_quarantined", weight="cannot tell", cause="evidence", affects=EVERYTHING,
    rule="rows of evidence broke a rule (`quarantined_row`)",
)  # fmt: skip
def rows_quarantined(f: Findings) -> Iterable[Found]:
    per: dict[tuple[str, int, str], list[str]] = defaultdict(list)
    for row in f.rows("quarantined_row"):
        per[row["cell"], row["repeat"], row["table"]].append(row["reason"])
    for (cell, repeat, table), reasons in sorted(per.items()):
        text = f"{len(reasons)} rows of {table} broke a rule and were left out, the first: {reasons[0]}"
        yield Found(ExecutionId(cell=cell, repeat=repeat), text, float(len(reasons)), 0.0)


@check("left_behind", weight="note", cause="broker", affects=(), rule="clean-up failed: what is left, and what to do")
def left_behind(f: Findings) -> Iterable[Found]:
    for row in f.events:
        event = event_of(row)
        if isinstance(event, LeftBehind):
            yield Found(ExecutionId.of(row), f"clean-up failed: {event.what}; {event.what_to_do}")


@check("errors", weight="note", cause="broker", affects=(), rule="errors that a client reported, by kind")
def errors(f: Findings) -> Iterable[Found]:
    for row in f.errors[:10]:
        said = row["kind"] if row["kind"] == row["text"] else f"{row['kind']}: {row['text']}"
        yield Found(ExecutionId.of(row), f"{row['count']:,} x {said}", float(row["count"]))
