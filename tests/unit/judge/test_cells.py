"""From executions to a cell: what is set aside, what never is, and when a cell may be believed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from test_verdict_rules import finished, good_tables

from brokerlab.judge import verdict as verdict_module
from brokerlab.judge.checks import CHECKS, all_reasons
from brokerlab.judge.figures import figures
from brokerlab.judge.findings import Findings
from brokerlab.judge.reasons import EVERYTHING, Check
from brokerlab.judge.verdict import Judgement, judge
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.plan import RunPlan
from brokerlab.model.state import RunState
from synthetic import environment, make_plan

Tables = dict[str, list[dict[str, Any]]]
LATE_NS = 400_000_000  # p99 of the latency with our lateness; without it 20 ms


def run_of(repeats: int, extra: dict[int, int] | None = None, **more: Any) -> Findings:
    """One cell; `extra` are repeats beyond the plan and those they stand in for. All executions are good ones."""
    plan = make_plan("run", cells=1, repeats=repeats)
    state = finished(plan)
    for repeat, replaces in (extra or {}).items():
        beyond = ExecutionId(cell="c01", repeat=repeat)
        state = state.with_facts(beyond, state="finished", extra=True, replaces=replaces)
    tables: Tables = {name: [] for name in good_tables()}
    for repeat in [*range(1, repeats + 1), *(extra or {})]:
        for name, rows in good_tables().items():
            tables[name] += [{**row, "repeat": repeat} for row in rows]
    return findings_of(plan, state, tables, **more)


def findings_of(plan: RunPlan, state: RunState, tables: Tables, **more: Any) -> Findings:
    return Findings(
        plan=plan,
        state=state,
        environment=environment(plan),
        tables=tables,
        figures=figures(*(tables[t] for t in ("rate_per_second", "latency_per_phase", "delivery", "agent_health"))),  # type: ignore[arg-type]
        with_evidence=frozenset(state.executions),
        **more,
    )


def spoil(found: Findings, repeat: int, *, late: bool = True) -> None:
    """Our own lateness, or a busy neighbour, in one repeat."""
    for row in found.tables["latency_per_phase"]:
        if late and row["repeat"] == repeat and row["measure"] == "end_to_end_latency":
            found.tables["latency_per_phase"].append({**row, "measure": "end_to_end_latency_from_send"})
            row["p99_ns"] = LATE_NS  # type: ignore[index]
    for row in found.tables["reading_per_second"]:
        if not late and row["repeat"] == repeat and row["metric"] == "cpu_foreign_cores":
            row["value"] = 1.5  # type: ignore[index]


def change(found: Findings, table: str, repeat: int, **values: Any) -> None:
    for row in found.tables[table]:
        if row["repeat"] == repeat:
            row.update(values)  # type: ignore[attr-defined]


def aside(judgement: Judgement) -> list[int]:
    (cell,) = judgement.verdict.cells
    return [s.repeat for s in cell.set_aside]


def test_one_spoiled_repeat_does_not_ruin_the_answer() -> None:
    found = run_of(4)
    spoil(found, 2)
    judgement = judge(found)
    assert judgement.verdict.verdict == "valid"
    assert aside(judgement) == [2]
    assert judgement.counted == {ExecutionId(cell="c01", repeat=r) for r in (1, 3, 4)}
    assert judgement.verdict.headline.startswith("Valid: 3 of 4 repeats (1 set aside)")
    assert judgement.verdict.exit_code() == 0


def test_an_extra_execution_counts_in_place_of_the_spoiled_one() -> None:
    found = run_of(4, {5: 2})
    spoil(found, 2)
    judgement = judge(found)
    assert (judgement.verdict.verdict, aside(judgement)) == ("valid", [2])
    assert judgement.verdict.cells[0].repeats_counted == 4


@pytest.mark.parametrize("fault", ["lost", "duplicated", "reordered", "corrupted", "unexpected", "unknown", "rejected"])
def test_a_message_that_did_not_arrive_as_it_should_is_never_set_aside(fault: str) -> None:
    found = run_of(4)
    spoil(found, 2)
    change(found, "delivery", 2, **{fault: 1})
    judgement = judge(found)
    assert aside(judgement) == []
    assert ExecutionId(cell="c01", repeat=2) in judgement.counted
    assert judgement.verdict.delivery[fault] == 1


def test_a_group_that_was_not_drained_is_never_set_aside() -> None:
    found = run_of(4)
    spoil(found, 3, late=False)
    change(found, "delivery", 3, drained=False)
    verdict = judge(found).verdict
    assert (verdict.cells[0].set_aside, verdict.cells[0].delivery) == ((), "cannot tell")


def test_a_dead_broker_is_never_made_up_for_by_other_repeats() -> None:
    found = run_of(6)
    last = ExecutionId(cell="c01", repeat=6)
    state = found.state.with_facts(last, state="failed", reason="kafka-1 died under load")
    verdict = judge(replace(found, state=state)).verdict
    assert verdict.verdict == "invalid"
    assert "kafka-1 died" in verdict.headline
    assert verdict.exit_code() == 5


@pytest.mark.parametrize("late", [True, False])
def test_one_cause_in_most_executions_is_not_chance(late: bool) -> None:
    found = run_of(4, {5: 1, 6: 2})
    for repeat in (1, 2, 3, 5):
        spoil(found, repeat, late=late)
    judgement = judge(found)
    (cell,) = judgement.verdict.cells
    assert (cell.verdict, cell.set_aside) == ("invalid", ())
    assert cell.rates == ("valid" if late else "invalid")
    assert cell.delivery == "valid"
    assert "4 of 6 executions" in cell.because
    assert len(judgement.counted) == 6  # nothing is chosen where nothing is believed
    assert judgement.verdict.exit_code() == 5


def test_three_that_hold_are_not_enough_where_five_extra_ones_were_spoiled() -> None:
    """Three is two thirds of the four that were planned, and three eighths of what was measured."""
    found = run_of(4, {5: 2, 6: 2, 7: 2, 8: 2})
    for repeat in (2, 5, 6, 7, 8):
        spoil(found, repeat, late=False)
    (cell,) = judge(found).verdict.cells
    assert (cell.verdict, cell.rates, cell.set_aside) == ("invalid", "invalid", ())
    assert "5 of 8 executions" in cell.because


def test_too_few_that_hold_for_different_causes_cannot_tell() -> None:
    found = run_of(4)
    spoil(found, 1)
    spoil(found, 2, late=False)
    assert judge(found).verdict.cells[0].latencies == "cannot tell"


def unsteady(found: Findings, *repeats: int) -> None:
    for repeat in repeats:
        change(found, "steadiness", repeat, label="slowing")


def test_a_doubt_is_explained_by_what_counts_and_not_by_what_was_set_aside() -> None:
    found = run_of(4, {5: 1, 6: 2, 7: 3})
    for repeat in (1, 2, 3):
        spoil(found, repeat)
    unsteady(found, 4, 5)
    (cell,) = judge(found).verdict.cells
    assert (cell.verdict, len(cell.set_aside)) == ("cannot tell", 3)
    assert cell.because == "sent per second is slowing: +0% over 7 s (2 of 4 executions; 3 more were set aside)"


def test_a_doubt_is_explained_by_the_aspect_that_is_in_doubt() -> None:
    """Rates hold in spite of two repeats that are not steady: only delivery is in doubt, by the one not drained."""
    found = run_of(9)
    unsteady(found, 1, 2)
    change(found, "delivery", 3, drained=False)
    (cell,) = judge(found).verdict.cells
    assert (cell.delivery, cell.rates, cell.latencies) == ("cannot tell", "valid", "valid")
    assert cell.because.startswith("group g1 was not drained")
    assert cell.because.endswith("(1 of 9 executions)")


def test_an_invalid_aspect_is_explained_before_one_in_doubt() -> None:
    found = run_of(4)
    for repeat in (1, 2, 3):
        spoil(found, repeat)
    unsteady(found, 1, 2, 3, 4)
    (cell,) = judge(found).verdict.cells
    assert (cell.rates, cell.latencies, cell.verdict) == ("cannot tell", "invalid", "invalid")
    assert cell.because.startswith("the agent itself was late")
    assert cell.because.endswith("(3 of 4 executions)")


def test_a_doubt_about_delivery_in_an_execution_that_was_set_aside_is_counted_among_all() -> None:
    found = run_of(4, unreadable=(("c01-r2", "x.parquet: cut"),))
    spoil(found, 2, late=False)
    (cell,) = judge(found).verdict.cells
    assert ([s.repeat for s in cell.set_aside], cell.delivery, cell.rates) == ([2], "cannot tell", "valid")
    assert cell.because == "a segment could not be read: x.parquet: cut (1 of 4 executions)"


def test_repeats_that_were_all_cut_off_say_so() -> None:
    found = run_of(2)
    state = found.state
    for repeat in (1, 2):
        state = state.with_facts(ExecutionId(cell="c01", repeat=repeat), state="interrupted")
    (cell,) = judge(replace(found, state=state)).verdict.cells
    assert (cell.verdict, cell.because) == ("cannot tell", "was interrupted (2 of 2 executions)")


def test_a_doubt_about_the_whole_run_does_not_hide_that_most_executions_are_spoiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def crash(_: Findings) -> list[Any]:
        raise ZeroDivisionError("oops")

    found = run_of(4)
    for repeat in (1, 2, 3):
        spoil(found, repeat, late=False)
    broken = Check("broken", "invalid", "machine", EVERYTHING, "never", crash)
    monkeypatch.setattr(verdict_module, "all_reasons", lambda f, checks=CHECKS: all_reasons(f, (*checks, broken)))
    verdict = judge(found).verdict
    assert (verdict.cells[0].delivery, verdict.cells[0].rates) == ("cannot tell", "invalid")
    assert verdict.exit_code() == 5
    assert "used by other programs (limit" in verdict.cells[0].because


def test_a_latency_that_is_ours_leaves_rates_and_delivery_alone() -> None:
    found = run_of(1)
    spoil(found, 1)
    (cell,) = judge(found).verdict.cells
    assert (cell.delivery, cell.rates, cell.latencies, cell.verdict) == ("valid", "valid", "invalid", "invalid")
    assert judge(found).verdict.headline.startswith(
        "Invalid: delivery and rates hold, latencies do not: the agent itself was late"
    )


def test_what_is_set_aside_must_not_change_the_answer() -> None:
    found = run_of(3, {4: 1})
    for repeat in (1, 2):
        spoil(found, repeat, late=False)
    assert (judge(found).verdict.verdict, aside(judge(found))) == ("valid", [1, 2])
    found.figures["c01", "received_per_s"].update({1: 100.0, 2: 100.0, 3: 1000.0, 4: 1001.0})
    doubted = judge(found).verdict
    assert [r.code for r in doubted.reasons if r.cell and r.repeat is None] == ["set_aside_matters"]
    assert (doubted.cells[0].rates, doubted.cells[0].latencies) == ("cannot tell", "valid")
    (reason,) = (r for r in doubted.reasons if r.code == "set_aside_matters")
    said = "2 executions were set aside, and they matter: received is 1,000/s without them and 550/s with them"
    assert said in reason.text


def test_a_single_execution_that_was_set_aside_and_matters_is_told_as_one() -> None:
    found = run_of(1, {2: 1})
    spoil(found, 1, late=False)
    found.figures["c01", "received_per_s"].update({1: 100.0, 2: 1000.0})
    (reason,) = (r for r in judge(found).verdict.reasons if r.code == "set_aside_matters")
    said = "1 execution was set aside, and it matters: received is 1,000/s without it and 550/s with it (interval "
    assert reason.text.startswith(said)


@pytest.mark.parametrize(
    ("from_send_ns", "weight", "answer"), [(20e6, "note", "valid"), (28e6, "cannot tell", "cannot tell")]
)
def test_what_was_set_aside_may_differ_by_our_own_lateness_alone(from_send_ns: float, weight: str, answer: str) -> None:
    found = run_of(4, {5: 1, 6: 2, 7: 3, 8: 4})
    spoiled, counted = (1, 2, 3, 4), {5: 20e6, 6: 20.1e6, 7: 19.9e6, 8: 20e6}
    for repeat in spoiled:
        spoil(found, repeat)
    found.figures["c01", "end_to_end_latency_p99_ns"] = {**dict.fromkeys(spoiled, 29e6), **counted}
    found.figures["c01", "end_to_end_latency_from_send_p99_ns"] = {**dict.fromkeys(spoiled, from_send_ns), **counted}
    judgement = judge(found)
    assert aside(judgement) == list(spoiled)
    (reason,) = (r for r in judgement.verdict.reasons if r.code == "set_aside_matters")
    assert (reason.weight, judgement.verdict.cells[0].latencies) == (weight, answer)
    assert ("by our own lateness alone" in reason.text) == (weight == "note")


@pytest.mark.parametrize(
    ("metric", "doubted"),
    [
        ("publish_latency_p99_ns", ["set_aside_matters"]),
        ("publish_latency_p999_ns", []),  # beyond the judged quantiles
        ("agent_cpu_cores", []),  # says nothing about the broker
    ],
)
def test_only_what_an_answer_rests_on_puts_the_choice_in_doubt(metric: str, doubted: list[str]) -> None:
    found = run_of(3, {4: 1})
    for repeat in (1, 2):
        spoil(found, repeat, late=False)
    found.figures["c01", metric].update({1: 9e9, 2: 9e9})
    reasons = judge(found).verdict.reasons
    assert [r.code for r in reasons if r.cell and r.repeat is None] == doubted


def test_every_table_of_a_summary_has_figures_with_and_without_what_was_set_aside() -> None:
    found = run_of(4)
    spoil(found, 2)
    row = next(r for r in judge(found).summary if r["metric"] == "end_to_end_latency_p99_ns")
    assert (row["n"], row["set_aside"], len(row["values"])) == (3, 1, 3)
    assert row["median_with_set_aside"] == 20_000_000
