"""Why a run may not be believed: one small function per reason, each with its number and its limit.

A check that crashes is "cannot tell", never a pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from brokerlab.judge.fault_checks import as_expected, planned_faults
from brokerlab.judge.findings import Findings, Weight, is_closed, reason
from brokerlab.judge.machine_checks import disturbed, noisy_neighbour, send_delay
from brokerlab.judge.summary import Row, measured_bounds
from brokerlab.model.events import Death, event_of
from brokerlab.model.plan import Phase
from brokerlab.results.tables import LOG_P99, NO_GROUP
from brokerlab.results.verdict import Reason

ACHIEVED_LIMIT = 0.99
AGENT_CPU_LIMIT = 0.90
BEHIND_SHARE = 0.01  # of a second's messages: less is a tick or two
SHORTEST_MEASURE_S = 5
CUT_SHORT_SHARE = 0.90
LAST_LINES = 3
DEATHS = {
    "node_died": ("broker_died", "broker node {name} died while it was needed"),
    "agent_died": ("agent_died", "agent {name} died while it was needed"),
    "broker_failed": ("broker_failed", "the broker failed"),
}


def load_not_delivered(f: Findings) -> Iterable[Reason]:
    """Open loop: messages of the measure phase sent within it / messages due in it, below 99 %."""
    sums: dict[tuple[str, int], dict[str, int]] = {}
    for row in f.rows("rate_per_second"):
        if row["role"] != "producer" or is_closed(f.cell(row["cell"])):
            continue
        totals = sums.setdefault((row["cell"], row["repeat"]), {"due": 0, "sent": 0, "late": 0})
        totals["late" if row["phase"] == Phase.DRAIN.value else "sent"] += row["sent"]
        totals["due"] += row["due"]
    for (cell, repeat), totals in sorted(sums.items()):
        if totals["due"] == 0:
            continue
        achieved = totals["sent"] / totals["due"]
        if achieved < ACHIEVED_LIMIT:
            text = (
                f"the load was not delivered: {totals['sent']:,} of {totals['due']:,} messages due were sent in time"
                f" ({achieved:.1%}, at least {ACHIEVED_LIMIT:.0%} needed)"
            )
            yield reason(
                "load_not_delivered", "invalid", {"cell": cell, "repeat": repeat}, text, achieved, ACHIEVED_LIMIT
            )


def target_not_scheduled(f: Findings) -> Iterable[Reason]:
    """Uniform rates: what was due must be what the plan asks; a stalled agent could forget to schedule."""
    due: dict[tuple[str, int], int] = {}
    for row in f.rows("rate_per_second"):
        if row["role"] == "producer":
            key = (row["cell"], row["repeat"])
            due[key] = due.get(key, 0) + row["due"]
    for (name, repeat), n in sorted(due.items()):
        cell = f.cell(name)
        schedule = cell.producers.schedule
        if schedule.arrival != "uniform" or schedule.rate_per_s is None:
            continue
        if f.execution_state(name, repeat).state != "finished":
            continue
        planned = schedule.rate_per_s * cell.producers.count * (cell.phases.warm_up_s + cell.phases.measure_s)
        share = n / planned
        if share < ACHIEVED_LIMIT:
            text = f"the agents scheduled {n:,} messages where the plan asks for {planned:,.0f} ({share:.1%})"
            yield reason("load_not_delivered", "invalid", {"cell": name, "repeat": repeat}, text, share, ACHIEVED_LIMIT)


def agent_saturated(f: Findings) -> Iterable[Reason]:
    """An agent above 90 % of a core while behind: producers by their schedule, consumers by what was sent."""
    for row in f.rows("agent_health"):
        cpu = row["cpu_cores_mean"]
        if cpu <= AGENT_CPU_LIMIT:
            continue
        cell = f.cell(row["cell"])
        sent = f.figures.get((cell.cell, "sent_per_s"), {}).get(row["repeat"], 0.0)
        received = f.figures.get((cell.cell, "received_per_s"), {}).get(row["repeat"], 0.0)
        if row["role"] == "producer":
            behind = row["behind_max"] > BEHIND_SHARE * max(sent / cell.producers.agents, 1.0)
        else:
            behind = received < ACHIEVED_LIMIT * sent * cell.consumers.groups
        closed = is_closed(cell) and row["role"] == "producer"
        if not behind and not closed:
            continue
        weight: Weight = "note" if closed else "invalid"
        tail = "the maximum found may be the agent's, not the broker's" if closed else "it was behind: it was the limit"
        text = f"agent {row['agent']} used {cpu:.2f} cores (limit {AGENT_CPU_LIMIT}); {tail}"
        yield reason("agent_saturated", weight, row, text, cpu, AGENT_CPU_LIMIT)


def drain_incomplete(f: Findings) -> Iterable[Reason]:
    for row in f.rows("delivery"):
        if not row["drained"]:
            absent = row["lost"]
            text = f"group {row['group']} was not drained: {absent:,} acknowledged messages were not seen, which is not yet 'lost'"
            yield reason("drain_incomplete", "cannot tell", row, text, float(absent), 0.0)
        elif row["group"] == NO_GROUP:
            yield reason("no_consumers", "note", row, "no consumers: nothing can be said about lost messages")


def not_steady(f: Findings) -> Iterable[Reason]:
    """A rate or a p99 that drifts, or a rate without a level. Bursts and ramps are not meant to be steady."""
    for row in f.rows("steadiness"):
        cell = f.cell(row["cell"])
        on_purpose = cell.producers.schedule.arrival in ("burst", "ramp") or cell.consumers.start == "after_backlog"
        if row["label"] in ("flat", "short") or on_purpose:
            continue
        is_rate = not row["series"].endswith(LOG_P99)
        weight: Weight = "note" if row["label"] == "none" and not is_rate else "cannot tell"
        text = _rate_in_words(row) if is_rate else _latency_in_words(row)
        if row["label"] == "warming":
            text += "; a longer phases.warm_up may help"
        yield reason("not_steady", weight, row, text, row["variation"])


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


def too_short(f: Findings) -> Iterable[Reason]:
    """Fewer than five seconds measured, or much less than planned."""
    for (name, repeat), (first, last) in sorted(measured_bounds(f.rows("rate_per_second")).items()):
        planned = f.cell(name).phases.measure_s
        labelled = last - first + 2 if last > first else 1
        row = {"cell": name, "repeat": repeat}
        if labelled < SHORTEST_MEASURE_S:
            text = f"only {labelled} s were measured, {SHORTEST_MEASURE_S} s are needed"
            yield reason("too_short", "cannot tell", row, text, labelled, SHORTEST_MEASURE_S)
        elif labelled < CUT_SHORT_SHARE * planned - 1:
            text = f"{labelled} s were measured where {planned:.0f} s were planned"
            yield reason("cut_short", "cannot tell", row, text, labelled, planned)


def negative_latency(f: Findings) -> Iterable[Reason]:
    for row in f.rows("latency_per_phase"):
        if row["repeat"] > 0 and row["negative"] > 0:
            text = f"{row['negative']:,} samples of {row['measure']} below zero: the clocks disagree by more than the latency"
            yield reason("negative_latency", "invalid", row, text, float(row["negative"]), 0.0)


def something_died(f: Findings) -> Iterable[Reason]:
    for row in f.events:
        event = event_of(row)
        if isinstance(event, Death):
            code, how = DEATHS[event.kind]
            kept = [line.strip() for line in event.text.splitlines() if line.strip()][-LAST_LINES:]
            text = how.format(name=", ".join(event.names)) + (": " + " | ".join(kept) if kept else "")
            yield reason(code, "invalid", row, text)


def repeats_missing(f: Findings) -> Iterable[Reason]:
    """Executions that failed, were cut off or never ran; and finished ones that left nothing."""
    for e in f.plan.order:
        row = {"cell": e.cell, "repeat": e.repeat}
        state = f.execution_state(e.cell, e.repeat)
        word = state.state
        tail = f": {state.reason}" if state.reason else ""
        siblings = [o.repeat for o in f.plan.order if o.cell == e.cell]
        any_finished = any(f.execution_state(e.cell, r).state == "finished" for r in siblings)
        weight: Weight = "note" if any_finished else "cannot tell"
        if word == "finished":
            if str(e) not in f.with_evidence:
                yield reason("no_evidence", "invalid", row, "finished, but left no evidence that can be read")
        elif word == "failed":
            yield reason("failed", "invalid", row, f"failed{tail}")
        elif word == "waiting":
            yield reason("repeat_missing", weight, row, "has not run")
        else:
            yield reason("repeat_missing", weight, row, f"was {'cut off' if word == 'running' else word}{tail}")


def groups_silent(f: Findings) -> Iterable[Reason]:
    """A group of which no consumer said anything: its messages are missing because nobody looked."""
    for row in f.rows("delivery"):
        if row["group"] and row["received"] == 0 and row["acknowledged"] > 0:
            text = f"group {row['group']} received nothing at all of {row['acknowledged']:,} acknowledged messages"
            yield reason("nothing_received", "cannot tell", row, text, 0.0, float(row["acknowledged"]))


def evidence_set_aside(f: Findings) -> Iterable[Reason]:
    for execution, text in f.set_aside:
        name, _, number = execution.rpartition("-r")
        where = {"cell": name, "repeat": int(number) if number.isdigit() else None}
        yield reason("segment_quarantined", "cannot tell", where, f"a segment could not be read: {text}")
    per: dict[tuple[str, int, str], list[str]] = {}
    for row in f.rows("quarantined_row"):
        per.setdefault((row["cell"], row["repeat"], row["table"]), []).append(row["reason"])
    for (cell, repeat, table), reasons in sorted(per.items()):
        text = f"{len(reasons)} rows of {table} broke a rule and were set aside, the first: {reasons[0]}"
        yield reason(
            "rows_quarantined", "cannot tell", {"cell": cell, "repeat": repeat}, text, float(len(reasons)), 0.0
        )


def errors_seen(f: Findings) -> Iterable[Reason]:
    for row in f.errors[:10]:
        text = f"{row['count']:,} x {row['kind']}: {row['text']}"
        yield reason("errors", "note", row, text, float(row["count"]))


CHECKS: tuple[Callable[[Findings], Iterable[Reason]], ...] = (
    something_died, repeats_missing, load_not_delivered, target_not_scheduled, agent_saturated, send_delay,
    negative_latency, drain_incomplete, groups_silent, evidence_set_aside, noisy_neighbour, disturbed, not_steady, too_short,
    errors_seen, planned_faults,
)  # fmt: skip
# What a planned fault does to any run: said, not held against it.
EXPECTED_OF_A_FAULT = (load_not_delivered, agent_saturated, send_delay, not_steady)


def all_reasons(findings: Findings, checks: Iterable[Callable[[Findings], Iterable[Reason]]] = CHECKS) -> list[Reason]:
    """Every reason of every check, gravest first. A crash of a check is a reason of its own."""
    reasons: list[Reason] = []
    for check in checks:
        try:
            found = check(findings)
            reasons += as_expected(findings, found) if check in EXPECTED_OF_A_FAULT else found
        except Exception as e:
            reasons.append(
                Reason(
                    code="check_failed",
                    weight="cannot tell",
                    cell="",
                    repeat=None,
                    text=f"the check {getattr(check, '__name__', check)} itself failed: {type(e).__name__}: {e}",
                )
            )
    return sorted(reasons, key=lambda r: ("invalid", "cannot tell", "note").index(r.weight))
