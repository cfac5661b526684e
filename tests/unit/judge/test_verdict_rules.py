"""The verdict as a function of small tables: no Spark, one table of cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import pytest

from brokerlab.judge.checks import CHECKS, all_reasons
from brokerlab.judge.figures import figures
from brokerlab.judge.findings import Findings
from brokerlab.judge.reasons import EVERYTHING, Check
from brokerlab.judge.verdict import judge
from brokerlab.model.environment import CellEnvironment, ClockPair, ExecutionEnvironment
from brokerlab.model.events import Death
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import FaultPlan, RunPlan
from brokerlab.model.state import ExecutionState, RunState
from brokerlab.results.tables import DELIVERY
from brokerlab.results.verdict import Verdict
from synthetic import environment, make_plan

START = 1000


def finished(plan: RunPlan) -> RunState:
    return RunState(executions={str(e): ExecutionState(state="finished") for e in plan.order})


def good_tables() -> dict[str, list[dict[str, Any]]]:
    """One cell, one repeat, 1000 messages a second for 8 s after 2 s of warm-up; everything as it should be."""
    where = {"cell": "c01", "repeat": 1}
    rates = []
    for i in range(11):
        phase = "warm_up" if i < 2 else "measure" if i < 10 else "drain"
        n = 0 if phase == "drain" else 1000
        base = {**where, "second_unix_s": START + i, "phase": phase, "bytes": n * 100}
        rates.append({**base, "role": "producer", "group": "", "due": n, "sent": n, "received": 0})
        rates.append({**base, "role": "consumer", "group": "g1", "due": 0, "sent": 0, "received": n})
    quantiles = {"publish_latency": 5_000_000, "end_to_end_latency": 20_000_000, "send_delay": 100_000}
    phases = [
        {**where, "phase": "measure", "measure": m, "group": "g1" if m[0] == "e" else "", "count": 8000, "negative": 0,
         "p50_ns": v // 2, "p95_ns": v, "p99_ns": v, "p999_ns": v * 2, "mean_ns": v / 2, "max_ns": v * 4}
        for m, v in quantiles.items()
    ]  # fmt: skip
    histograms = [
        {**where, "phase": "measure", "measure": m, "group": "g1" if m[0] == "e" else "", "bucket": [1000, 2000],
         "count": [7990, 10]}
        for m in quantiles
    ]  # fmt: skip
    delivery = {c.name: 0 for c in DELIVERY.columns if c.type == "long"}
    delivery |= {"sent": 10_000, "acknowledged": 10_000, "received": 10_000, "delivered": 10_000}
    agent = {**where, "agent": "producer-1", "role": "producer", "cpu_cores_mean": 0.4, "behind_max": 0}
    reading = {**where, "second_unix_s": START + 3, "phase": "measure", "subject": "host", "unit": "cores"}
    steady = {**where, "series": "sent", "seconds": 7, "variation": 0.01, "slope_per_minute": 0.0, "label": "flat"}
    delays = [
        {
            **where,
            "second_unix_s": START + i,
            "phase": "measure",
            "measure": "send_delay",
            "group": "",
            "p99_ns": 100_000,
        }
        for i in range(2, 10)
    ]
    return {
        "rate_per_second": rates,
        "latency_per_second": delays,
        "latency_per_phase": phases,
        "latency_histogram": histograms,
        "delivery": [{**where, "group": "g1", "drained": True, **delivery}],
        "agent_health": [agent],
        "reading_per_second": [
            {**reading, "metric": "cpu_steal_cores", "value": 0.0},
            {**reading, "metric": "cpu_foreign_cores", "value": 0.1},
        ],
        "steadiness": [steady],
        "quarantined_row": [],
    }


def findings(
    tables: dict[str, list[dict[str, Any]]] | None = None, plan: RunPlan | None = None, **more: Any
) -> Findings:
    plan = plan or make_plan("run", cells=1, repeats=1)
    tables = good_tables() if tables is None else tables
    given = {
        "plan": plan,
        "state": finished(plan),
        "environment": environment(plan),
        "tables": tables,
        "figures": figures(
            *(tables[t] for t in ("rate_per_second", "latency_per_phase", "delivery", "agent_health"))  # type: ignore[arg-type]
        ),
        "with_evidence": frozenset({"c01-r1"}),
    }
    return Findings(**(given | more))


def judged(found: Findings, unreadable: Sequence[str] = ()) -> Verdict:
    return judge(found, unreadable).verdict


def changed(table: str, change: dict[str, Any], **only: Any) -> dict[str, list[dict[str, Any]]]:
    """Good tables with `change` made in the rows of one table that have all of `only`."""
    tables = good_tables()
    hits = [r for r in tables[table] if all(r[k] == v for k, v in only.items())]
    assert hits
    for row in hits:
        row.update(change)
    return tables


def test_a_good_run_is_valid_without_a_word_against_it() -> None:
    verdict = judged(findings())
    assert (verdict.verdict, verdict.complete, verdict.delivery_violated) == ("valid", True, False)
    assert verdict.reasons == ()
    assert verdict.headline == "Valid: 1 repeat; 10,000 messages sent, none lost."
    assert verdict.exit_code() == 0


CASES = [
    ("rate_per_second", {"sent": 980}, {"role": "producer", "phase": "measure"}, "load_not_delivered", "invalid"),
    ("rate_per_second", {"due": 900}, {"role": "producer", "phase": "measure"}, "load_not_scheduled", "invalid"),
    ("latency_per_phase", {"p99_ns": 3_000_000}, {"measure": "send_delay"}, "send_delay", "invalid"),
    ("latency_per_phase", {"negative": 1}, {"measure": "end_to_end_latency"}, "negative_latency", "invalid"),
    ("agent_health", {"cpu_cores_mean": 0.95, "behind_max": 500}, {}, "agent_saturated", "invalid"),
    ("reading_per_second", {"value": 0.25}, {"metric": "cpu_steal_cores"}, "noisy_neighbour", "invalid"),
    ("reading_per_second", {"value": 0.6}, {"metric": "cpu_foreign_cores"}, "noisy_neighbour", "invalid"),
    ("delivery", {"drained": False, "lost": 7}, {}, "drain_incomplete", "cannot tell"),
    ("delivery", {"received": 0, "delivered": 0}, {}, "nothing_received", "cannot tell"),
    ("steadiness", {"label": "none"}, {}, "not_steady", "cannot tell"),
    ("steadiness", {"label": "slowing"}, {}, "not_steady", "cannot tell"),
    ("rate_per_second", {"phase": "drain"}, {"phase": "measure"}, "load_not_delivered", "invalid"),
]


@pytest.mark.parametrize(
    ("table", "change", "only", "code", "answer"), CASES, ids=[f"{c[3]}-{i}" for i, c in enumerate(CASES)]
)
def test_each_reason_is_found_and_decides(
    table: str, change: dict[str, Any], only: dict[str, Any], code: str, answer: str
) -> None:
    verdict = judged(findings(changed(table, change, **only)))
    assert verdict.verdict == answer
    assert code in {r.code for r in verdict.reasons}
    assert verdict.cells[0].verdict == answer
    assert verdict.headline


HARMLESS = [
    ("latency_per_phase", {"p99_ns": 900_000}, {"measure": "send_delay"}),  # below the floor of our own lateness
    ("agent_health", {"cpu_cores_mean": 0.99, "behind_max": 5}, {}),  # busy but on time
    ("agent_health", {"cpu_cores_mean": 0.5, "behind_max": 500}, {}),
    ("reading_per_second", {"value": 0.19}, {"metric": "cpu_steal_cores"}),
    ("rate_per_second", {"sent": 995}, {"role": "producer"}),
    ("steadiness", {"label": "short"}, {}),
]


@pytest.mark.parametrize(("table", "change", "only"), HARMLESS)
def test_what_stays_below_a_limit_is_no_reason(table: str, change: dict[str, Any], only: dict[str, Any]) -> None:
    assert judged(findings(changed(table, change, **only))).verdict == "valid"


def test_sends_that_slip_into_the_drain_are_not_in_time() -> None:
    tables = good_tables()
    for row in tables["rate_per_second"]:
        if row["role"] == "producer":
            row["sent"] = {"warm_up": 1000, "measure": 900, "drain": 800}[row["phase"]]
    verdict = judged(findings(tables))
    (reason,) = [r for r in verdict.reasons if r.code == "load_not_delivered"]
    assert (reason.value, reason.limit) == (pytest.approx(0.92), 0.99)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": "slowing", "slope_per_minute": -1.5}, "sent per second is slowing: -18% over 7 s"),
        ({"label": "none", "variation": 0.4}, "sent per second has no steady level: it varies by 40% over 7 s"),
        (
            {"series": "publish_latency_log_p99", "label": "warming", "slope_per_minute": -60 / 7 * math.log(20)},
            (
                "p99(publish_latency) of a second is warming: it falls by a factor of 20.0 over 7 s;"
                " a longer phases.warm_up may help"
            ),
        ),
        (
            {"series": "publish_latency_log_p99", "label": "none", "variation": math.log(5.3)},
            "p99(publish_latency) of a second has no steady level: it varies by a factor of 5.3 over 7 s",
        ),
    ],
)
def test_what_is_not_steady_is_said_in_words(change: dict[str, Any], said: str) -> None:
    (found,) = [r for r in judged(findings(changed("steadiness", change))).reasons if r.code == "not_steady"]
    assert found.text == said


@pytest.mark.parametrize(
    ("metric", "second", "value", "said"),
    [
        ("cpu_steal_cores", START + 3, 0.18, ", when 0.18 cores were taken by the hypervisor"),
        ("cpu_foreign_cores", START + 5, 0.4, ", when 0.40 cores were used by other programs"),
        ("cpu_steal_cores", START + 5, 0.06, ", when 0.06 cores were taken by the hypervisor"),
        ("cpu_foreign_cores", START + 5, 0.06, ", when other programs used no more than 0.06 cores"),
        ("cpu_foreign_cores", START + 6, 0.4, ""),  # nothing is known of that second
        ("cpu_steal_cores", START + 4, 0.01, ", when other programs used no more than 0.01 cores"),
    ],
)
def test_who_was_late_says_when_and_who_had_the_processors(metric: str, second: int, value: float, said: str) -> None:
    tables = changed("latency_per_phase", {"p99_ns": 3_000_000}, measure="send_delay")
    for row in tables["latency_per_second"]:
        row["p99_ns"] = 31_500_000 if row["second_unix_s"] == START + 4 else row["p99_ns"]
    (reading, _) = tables["reading_per_second"]
    tables["reading_per_second"] = [{**reading, "metric": metric, "second_unix_s": second, "value": value}]
    (late,) = [r for r in judged(findings(tables)).reasons if r.code == "send_delay"]
    assert late.text.endswith("; worst at 00:16:44 UTC, 31.5 ms" + said)


def test_closed_loop_has_no_target_and_no_send_delay() -> None:
    plan = make_plan("run", cells=1, repeats=1, arrival="closed")
    tables = changed("rate_per_second", {"sent": 10}, role="producer")
    for row in tables["latency_per_phase"]:
        row["p99_ns"] = 5_000_000
    assert judged(findings(tables, plan)).verdict == "valid"


def test_a_closed_loop_that_sent_nothing_in_its_measure_phase_is_invalid() -> None:
    plan = make_plan("run", cells=1, repeats=1, arrival="closed")
    tables = changed("rate_per_second", {"sent": 0}, role="producer", phase="measure")
    (reason,) = [r for r in judged(findings(tables, plan)).reasons if r.code == "nothing_sent"]
    assert (reason.weight, reason.cause, reason.affects) == ("invalid", "broker", ("rates", "latencies"))
    assert "nothing_sent" not in [r.code for r in judged(findings(tables)).reasons], (
        "an open loop says what was not delivered"
    )


def test_too_few_seconds_cannot_tell() -> None:
    tables = good_tables()
    tables["rate_per_second"] = [
        r for r in tables["rate_per_second"] if not START + 5 <= r["second_unix_s"] < START + 10
    ]
    codes = {r.code: r.weight for r in judged(findings(tables)).reasons}
    assert codes["too_short"] == "cannot tell"


def with_messages(messages: int, measure_s: float = 600, arrival: str = "closed") -> RunPlan:
    """The plan of a number of messages, of which 8,000 were sent in 8 s of the measure phase."""
    plan = make_plan("run", cells=1, repeats=1, arrival=arrival)  # type: ignore[arg-type]
    (cell,) = plan.cells
    producers = cell.producers.model_copy(update={"messages": messages})
    phases = cell.phases.model_copy(update={"measure_s": measure_s})
    return plan.model_copy(update={"cells": (cell.model_copy(update={"producers": producers, "phases": phases}),)})


@pytest.mark.parametrize("arrival", ["closed", "uniform"])
def test_a_number_of_messages_that_was_reached_ends_measure_without_a_word(arrival: str) -> None:
    assert judged(findings(plan=with_messages(8_000, arrival=arrival))).reasons == ()


def test_a_number_of_messages_that_was_not_reached_is_told() -> None:
    (reason,) = judged(findings(plan=with_messages(9_000, measure_s=8))).reasons
    assert (reason.code, reason.weight) == ("number_not_reached", "note")
    assert "8,000 of 9,000 messages were sent when 8 s were over" in reason.text


def test_seconds_of_consumers_after_the_last_send_are_not_measured() -> None:
    """Where a number of messages ends measure, consumers learn of it a little later than producers."""
    tables = good_tables()
    late = [r for r in tables["rate_per_second"] if r["role"] == "consumer" and r["phase"] == "drain"]
    assert late
    for row in late:
        row["phase"] = "measure"
    assert findings(tables).figures["c01", "sent_per_s"] == {1: 1000}
    assert findings(tables).figures["c01", "received_per_s"] == {1: 1000}


@pytest.mark.parametrize(
    ("change", "violated"),
    [
        ({"lost": 1}, True),
        ({"lost": 1, "drained": False}, False),
        ({"corrupted": 1, "drained": False}, True),
        ({"unexpected": 1}, True),
        ({"duplicated": 5, "reordered": 5}, False),
    ],
)
def test_delivery_is_violated_by_facts_only(change: dict[str, Any], violated: bool) -> None:
    verdict = judged(findings(changed("delivery", change)))
    assert verdict.delivery_violated is violated
    assert (verdict.exit_code() == 6) is violated
    assert verdict.delivery.get("lost") == (change.get("lost", 0) if change.get("drained", True) else None)


def test_a_dead_broker_is_invalid_with_its_last_words() -> None:
    event = {"cell": "c01", "repeat": 1, "source": "runner", "kind": "node_died", "at_mono_ns": 1,
             "detail": '{"names": ["kafka-1"], "text": "starting\\nFATAL disk is gone\\n"}'}  # fmt: skip
    verdict = judged(findings(events=[event]))
    assert verdict.verdict == "invalid"
    assert verdict.reasons[0].code == "broker_died"
    assert "kafka-1" in verdict.headline
    assert "FATAL disk is gone" in verdict.reasons[0].text


def test_a_broker_that_ended_in_order_is_quoted_with_why_it_did() -> None:
    said = "INFO starting\\nERROR Bookie: Unable to allocate memory\\nINFO closing\\nINFO closed\\nINFO bye\\n"
    event = {"cell": "c01", "repeat": 1, "source": "runner", "kind": "node_died", "at_mono_ns": 1,
             "detail": f'{{"names": ["bookie-1"], "text": "{said}"}}'}  # fmt: skip
    assert (
        judged(findings(events=[event]))
        .reasons[0]
        .text.endswith("needed: ERROR Bookie: Unable to allocate memory | INFO closed | INFO bye")
    )


def test_a_dead_agent_is_invalid() -> None:
    event = {
        "cell": "c01",
        "repeat": 1,
        "source": "runner",
        "kind": "agent_died",
        "at_mono_ns": 1,
        "detail": "not json",
    }
    verdict = judged(findings(events=[event]))
    assert [r.code for r in verdict.reasons] == ["agent_died"]


def test_a_failed_broker_is_invalid_with_what_it_said() -> None:
    event = {"cell": "c01", "repeat": 1, "source": "runner", "kind": "broker_failed", "at_mono_ns": 1,
             "detail": '{"text": "producer-1: authorisation failed"}'}  # fmt: skip
    verdict = judged(findings(events=[event]))
    (reason,) = verdict.reasons
    assert (verdict.verdict, reason.code) == ("invalid", "broker_failed")
    assert "authorisation failed" in reason.text


def test_a_clean_up_that_failed_is_a_note_and_changes_no_verdict() -> None:
    event = {"cell": "c01", "repeat": 1, "source": "runner", "kind": "left_behind", "at_mono_ns": 1,
             "detail": '{"what": "the stream d: timeout", "what_to_do": "delete it: rm d"}'}  # fmt: skip
    verdict = judged(findings(events=[event]))
    (reason,) = verdict.reasons
    assert (verdict.verdict, reason.code, reason.weight) == ("valid", "left_behind", "note")
    assert "the stream d: timeout; delete it: rm d" in reason.text
    assert verdict.exit_code() == judged(findings()).exit_code()


def test_every_way_to_fail_under_load_that_is_journalled_is_a_reason() -> None:
    for died in (event() for event in get_args(Death)):
        event = {"cell": "c01", "repeat": 1, "source": "runner", "kind": died.kind, "at_mono_ns": 1, "detail": "{}"}
        assert judged(findings(events=[event])).verdict == "invalid", died.kind


FAULT_ROW = {
    "cell": "c01", "repeat": 1, "number": 1, "fault": "kill", "node": "nats-1", "nodes": 3, "was_leading": True,
    "at_s": 4.0, "end_s": None, "rest_s": 4.0, "took_over": "nats-2", "took_over_after_s": 1.0, "publish_outage_s": 1.5,
    "publish_outage_lane_s": 1.5, "publish_recovered": True, "delivery_outage_s": 1.6, "delivery_outage_lane_s": 1.6,
    "delivery_recovered": True, "rejected": 4, "unknown": 3, "lost": 0,
    "duplicated": 2, "drained": True,
}  # fmt: skip


def plan_with_a_fault() -> RunPlan:
    plan = make_plan("run", cells=1, repeats=1)
    faults = (FaultPlan(kind="kill", target="leader", at_s=4.0),)
    return plan.model_copy(update={"cells": tuple(c.model_copy(update={"faults": faults}) for c in plan.cells)})


OUTAGE = [
    ("rate_per_second", {"sent": 800}, {"role": "producer", "phase": "measure"}, "load_not_delivered"),
    ("latency_per_phase", {"p99_ns": 900_000_000}, {"measure": "send_delay"}, "send_delay"),
    ("agent_health", {"cpu_cores_mean": 0.95, "behind_max": 500}, {}, "agent_saturated"),
    ("steadiness", {"label": "none"}, {}, "not_steady"),
]


@pytest.mark.parametrize(("table", "change", "only", "code"), OUTAGE)
def test_what_a_planned_fault_must_do_is_noted_and_does_not_decide(
    table: str, change: dict[str, Any], only: dict[str, Any], code: str
) -> None:
    tables = changed(table, change, **only) | {"fault": [FAULT_ROW]}
    verdict = judged(findings(tables, plan_with_a_fault()))
    assert verdict.verdict == "valid"
    assert {r.weight for r in verdict.reasons} == {"note"}
    (reason,) = [r for r in verdict.reasons if r.code == code]
    assert "include the outage" in reason.text
    (told,) = [r for r in verdict.reasons if r.code == "planned_fault"]
    assert "nats-2 took over after 1.00 s" in told.text
    (result,) = verdict.faults
    assert (result.node, result.publish_outage_s, result.text) == ("nats-1", 1.5, told.text)


@pytest.mark.parametrize(("table", "change", "only", "code"), OUTAGE)
def test_without_a_fault_that_happened_the_same_decides(
    table: str, change: dict[str, Any], only: dict[str, Any], code: str
) -> None:
    verdict = judged(findings(changed(table, change, **only)))
    assert code in {r.code for r in verdict.reasons if r.weight != "note"}


def test_too_little_scheduled_is_no_effect_of_a_fault() -> None:
    tables = changed("rate_per_second", {"due": 900}, role="producer", phase="measure") | {"fault": [FAULT_ROW]}
    assert judged(findings(tables, plan_with_a_fault())).verdict == "invalid"


def test_lost_after_a_planned_fault_is_lost() -> None:
    tables = changed("delivery", {"lost": 3}) | {"fault": [FAULT_ROW | {"lost": 3}]}
    verdict = judged(findings(tables, plan_with_a_fault()))
    assert verdict.delivery_violated
    assert verdict.exit_code() == 6


def test_a_planned_fault_that_did_not_happen_makes_the_run_invalid() -> None:
    verdict = judged(findings(plan=plan_with_a_fault()))
    (reason,) = verdict.reasons
    assert (reason.code, reason.weight, reason.text) == ("fault_missing", "invalid", "0 of 1 planned faults happened")


def test_a_check_that_crashes_is_cannot_tell() -> None:
    def crash(_: Findings) -> list[Any]:
        raise ZeroDivisionError("oops")

    broken = Check("broken", "invalid", "machine", EVERYTHING, "never", crash)
    (reason,) = all_reasons(findings(), (*CHECKS, broken))
    assert (reason.code, reason.weight) == ("check_failed", "cannot tell")
    assert "broken" in reason.text


def test_damaged_tables_never_pass() -> None:
    tables = good_tables()
    del tables["steadiness"][0]["label"]
    verdict = judged(findings(tables))
    assert verdict.verdict == "cannot tell"


def test_missing_repeats_make_a_run_incomplete_not_invalid() -> None:
    plan = make_plan("run", cells=1, repeats=2)
    second = ExecutionId(cell="c01", repeat=2)
    state = finished(plan).with_facts(second, state="interrupted")
    verdict = judged(findings(plan=plan, state=state))
    assert (verdict.complete, verdict.verdict) == (False, "cannot tell")
    assert (verdict.cells[0].repeats_finished, verdict.cells[0].repeats_planned) == (1, 2)
    assert [r.code for r in verdict.reasons] == ["repeat_missing"]
    state = state.with_facts(second, state="failed", reason="no space")
    failed = judged(findings(plan=plan, state=state))
    assert failed.verdict == "invalid"
    assert "no space" in failed.reasons[0].text


def test_unreadable_segments_are_named_and_decide() -> None:
    verdict = judged(findings(unreadable=(("c01-r1", "evidence/x.parquet: cut"),)), ["evidence/x.parquet: cut"])
    assert verdict.verdict == "cannot tell"
    assert verdict.quarantined == ("evidence/x.parquet: cut",)


def test_without_evidence_of_the_schedule_no_load_is_called_missing() -> None:
    """Where intervals cannot be read, `due` is 0: the segment is the reason, and the agents did nothing wrong."""
    found = changed("rate_per_second", {"due": 0, "sent": 0}, role="producer")
    without = judged(findings(found))
    assert (without.reasons[0].code, without.verdict) == ("load_not_scheduled", "invalid")
    verdict = judged(findings(found, unreadable=(("c01-r1", "evidence/x.parquet: cut"),)))
    assert [r.code for r in verdict.reasons][:2] == ["segment_unreadable", "load_not_scheduled"]
    assert verdict.verdict == "cannot tell"
    assert verdict.headline.startswith("Cannot tell: a segment could not be read: evidence/x.parquet: cut")
    assert not verdict.cells[0].set_aside


def test_a_file_that_does_not_belong_to_the_run_is_a_note() -> None:
    verdict = judged(findings(left_out=(("c01-r1", "evidence/copy.parquet: the same segment as x.parquet"),)))
    assert [(r.code, r.weight, r.repeat) for r in verdict.reasons] == [("segment_left_out", "note", 1)]
    assert verdict.verdict == "valid"


@pytest.mark.parametrize(("step_s", "stepped"), [(3600, True), (-5, True), (0, False)])
def test_a_clock_that_jumps_during_an_execution_is_named(step_s: int, stepped: bool) -> None:
    plan = make_plan("run", cells=1, repeats=1)
    begin = ClockPair(mono_ns=5 * 10**9, unix_ns=1_800_000_000 * 10**9)
    end = ClockPair(mono_ns=begin.mono_ns + 60 * 10**9, unix_ns=begin.unix_ns + (60 + step_s) * 10**9)
    known = CellEnvironment(executions={"1": ExecutionEnvironment(clock=begin, clock_end=end)})
    verdict = judged(findings(plan=plan, environment=environment(plan).with_cell("c01", known)))
    assert ("clock_stepped" in [r.code for r in verdict.reasons]) is stepped
    if stepped:
        assert f"the host's clock was stepped by {step_s:+.1f} s" in verdict.reasons[0].text
