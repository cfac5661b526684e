"""What reasons about the course of an execution say."""

from __future__ import annotations

from typing import Any

import pytest
from test_verdict_rules import findings, judged

from brokerlab.judge.course_checks import backlog_not_reached, errors
from brokerlab.model.plan import RunPlan
from synthetic import make_plan

WHERE = {"cell": "c01", "repeat": 1}


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("connection lost", "connection lost", "1,200 x connection lost"),
        ("connection lost", "reset by peer", "1,200 x connection lost: reset by peer"),
    ],
)
def test_an_error_whose_text_is_its_kind_says_it_once(kind: str, text: str, said: str) -> None:
    row = {**WHERE, "kind": kind, "text": text, "count": 1200}
    (reason,) = errors.reasons(findings(errors=[row]))
    assert (reason.text, reason.value) == (said, 1200)
    assert judged(findings(errors=[row])).verdict == "valid"


def late(name: str, **start: Any) -> RunPlan:
    plan = make_plan("run", cells=1, repeats=1)
    (cell,) = plan.cells
    consumers = cell.consumers.model_copy(update={"name": name, **start})
    return plan.model_copy(update={"cells": (cell.model_copy(update={"consumers": consumers}),)})


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (
            late("", start="backlog", start_backlog_bytes=60_000_000),
            (
                "the consumers started when everything was sent (1,000 bytes);"
                " the workload asks for a start after a backlog of 60 MB"
            ),
        ),
        (
            late("replay", start="after", start_after_s=10.0),
            (
                "set replay started when everything was sent (1,000 bytes);"
                " the workload asks for a start 10 s after measure begins"
            ),
        ),
    ],
)
def test_a_backlog_that_was_not_reached_is_told_with_what_was_asked_for(plan: RunPlan, said: str) -> None:
    name = plan.cells[0].consumers.name
    detail = f'{{"consumer_set": "{name}", "sent_bytes": 1000, "reached": false}}'
    event = {**WHERE, "source": "runner", "kind": "consumers_started", "at_mono_ns": 1, "detail": detail}
    (reason,) = backlog_not_reached.reasons(findings(plan=plan, events=[event]))
    assert reason.text == said
