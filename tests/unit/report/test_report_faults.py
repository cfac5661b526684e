"""The report of a run with a planned fault says what it did; other reports do not speak of faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_report_page import SHORT, words

from brokerlab.model.plan import FaultPlan
from brokerlab.report.page import write_report
from brokerlab.results.derived_tables import DIP
from brokerlab.results.directory import RunDirectory, write_json
from brokerlab.results.tables import FAULT
from synthetic_tables import write_results, write_table

ROW: dict[str, Any] = {
    "cell": "c02", "repeat": 1, "number": 1, "fault": "kill", "node": "nats-1", "nodes": 3, "was_leading": True,
    "at_s": 5.0, "end_s": None, "rest_s": 15.0, "took_over": "nats-3", "took_over_after_s": 1.25, "publish_outage_s": 1.5,
    "publish_outage_lane_s": 1.75, "publish_recovered": True, "delivery_outage_s": 15.0,
    "delivery_outage_lane_s": 15.0, "delivery_recovered": False, "rejected": 17, "unknown": 31, "lost": 2, "duplicated": 4,
    "drained": True,
}  # fmt: skip


def with_faults(tmp_path: Path, rows: list[dict[str, Any]]) -> RunDirectory:
    run = write_results(tmp_path / "run", SHORT)
    plan = run.plan()
    faults = (FaultPlan(kind="kill", target="leader", at_s=5.0),)
    cells = tuple(c.model_copy(update={"faults": faults}) for c in plan.cells)
    write_json(run.path / "plan.json", plan.model_copy(update={"cells": cells}).model_dump(mode="json"))
    write_table(run.path, FAULT, rows)
    return run


def test_what_the_fault_did_stands_right_behind_the_answer(tmp_path: Path) -> None:
    html = write_report(with_faults(tmp_path, [ROW])).read_text()
    assert html.index('id="answer"') < html.index('id="faults"') < html.index('id="load"')
    assert 'href="#faults"' in html
    text = words(html)
    told = text[text.index("What the fault did") :]
    assert "nats, repeat 1: nats-1, which led, was killed 5.0 s into measure; nats-3 took over after 1.25 s" in told
    for said in ("1.50 s", "worst lane 1.75 s", "more than 15.00 s", "17", "31"):
        assert said in told


def test_a_single_node_that_was_started_again_is_said_to_be_one(tmp_path: Path) -> None:
    alone = ROW | {"nodes": 1, "end_s": 7.5, "took_over": "", "took_over_after_s": None}
    text = words(write_report(with_faults(tmp_path, [alone])).read_text())
    told = text[text.index("What the fault did") :]
    assert "nats-1 was killed 5.0 s into measure and started again 2.5 s later; nothing was acknowledged" in told
    assert "nats-1 the only node 5.0 s started again 2.5 s later – 1.50 s" in told
    assert "took over after" not in told


def test_the_dip_of_the_rates_is_told_with_when_they_were_back(tmp_path: Path) -> None:
    run = with_faults(tmp_path, [ROW])
    dip = {"cell": "c02", "repeat": 1, "number": 1, "fault": "kill", "node": "nats-1", "side": "publish", "outage_s": 1.5,
           "outage_ended": True, "before_per_s": 300.0, "lowest_per_s": 0.0, "depth": 1.0, "during_per_s": 60.0,
           "during_share": 0.2, "silent_s": 1, "recovery_s": 2.25, "recovered": True, "reason": ""}  # fmt: skip
    write_table(run.path, DIP, [dip, dip | {"side": "delivery", "recovery_s": None, "recovered": False}])
    text = words(write_report(run).read_text())
    assert "nats repeat 1, nats-1 acknowledged 300/s 0/s 1 s with nothing 100.0 % 60.0/s 20.0 % 2.2 s" in text
    assert "20.0 % not back" in text


@pytest.mark.parametrize(("drained", "said"), [(True, False), (False, True)])
def test_lost_is_marked_where_the_drain_was_not_complete(tmp_path: Path, drained: bool, said: bool) -> None:
    text = words(write_report(with_faults(tmp_path, [{**ROW, "drained": drained}])).read_text())
    section = text[text.index("What the fault did") : text.index("Was the load real?")]
    assert ("not drained" in section) is said


def test_a_planned_fault_that_did_not_happen_is_said(tmp_path: Path) -> None:
    assert "No planned fault happened." in words(write_report(with_faults(tmp_path, [])).read_text())


def test_without_faults_there_is_no_word_about_them(tmp_path: Path) -> None:
    html = write_report(write_results(tmp_path / "run", SHORT)).read_text()
    assert 'id="faults"' not in html
    assert "What the fault did" not in html
