"""All checks in the order in which their reasons are shown, and what they find together."""

from __future__ import annotations

from collections.abc import Iterable

from brokerlab.judge import course_checks as course
from brokerlab.judge import delivery_checks as delivery
from brokerlab.judge import fault_checks as faults
from brokerlab.judge import load_checks as load
from brokerlab.judge import machine_checks as machine
from brokerlab.judge import setup_checks as setup
from brokerlab.judge.executions import SPOILERS
from brokerlab.judge.findings import Findings
from brokerlab.judge.reasons import Check
from brokerlab.results.verdict import Reason, Weight

# What a missing piece of evidence makes look wrong.
FOLLOWS = (
    "no_evidence",
    "load_not_delivered",
    "nothing_sent",
    "load_not_scheduled",
    "too_short",
    "nothing_received",
    "not_steady",
)
MISSING = ("segment_unreadable", "rows_quarantined")
WEIGHTS: tuple[Weight, ...] = ("invalid", "cannot tell", "note")
# What the runner can ask as soon as an execution has ended, without Spark: it runs another one in its place.
AT_ONCE: tuple[Check, ...] = (
    load.agent_saturated, load.send_delay, load.agent_paused, delivery.negative_latency, machine.noisy_neighbour,
    machine.clock_stepped,
)  # fmt: skip
CHECKS: tuple[Check, ...] = (
    course.no_evidence, course.broker_died, course.agent_died, course.broker_failed, course.failed, course.repeat_missing, course.segment_unreadable,
    course.rows_quarantined, load.load_not_delivered, load.nothing_sent, load.load_not_scheduled, load.number_not_reached, course.backlog_not_reached, *AT_ONCE,
    setup.placement_left, setup.share_exceeded, setup.memory_limit_missing, setup.fsync_floor_missing, setup.link_exceeded, delivery.drain_incomplete,
    delivery.nothing_received, delivery.counted_differently, course.not_steady, course.too_short, faults.fault_missing, faults.planned_fault,
    load.client_blocked, delivery.no_consumers, machine.disturbed, setup.kept_cluster, setup.confined, course.left_behind,
    course.errors, course.segment_left_out,
)  # fmt: skip
# For which an execution may be set aside. A death is a result, and what concerns a whole cell leaves nothing that counts.
SETS_ASIDE: tuple[Check, ...] = tuple(
    c
    for c in CHECKS
    if c.weight != "note" and c.cause in SPOILERS and c not in (course.agent_died, setup.fsync_floor_missing)
)


def all_reasons(findings: Findings, checks: Iterable[Check] = CHECKS) -> list[Reason]:
    """Every reason of every check, gravest first. Where evidence of an execution is missing, that stands before what it
    makes look wrong."""
    found = [reason for check in checks for reason in check.reasons(findings)]
    told = faults.as_expected(findings, found)
    broken = {(r.cell, r.repeat) for r in told if r.code in MISSING}

    def follows(reason: Reason) -> bool:
        return reason.code in FOLLOWS and reason.weight != "note" and (reason.cell, reason.repeat) in broken

    # The weight of what is missing, and not a cause for which an execution could be set aside.
    changed = {"weight": "cannot tell", "cause": "evidence"}
    first = [r for r in told if not follows(r)]
    last = [r.model_copy(update=changed) for r in told if follows(r)]
    return sorted([*first, *last], key=lambda r: WEIGHTS.index(r.weight))
