"""Objectives: met means met every time, and what cannot be judged is never met."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from test_verdict_rules import changed, findings, good_tables, judged

from brokerlab.judge.objectives import objective_results
from brokerlab.model.plan import Objective
from brokerlab.model.quantiles import fewest_samples
from synthetic import make_plan


def objective(measure: str, comparison: str, limit: float, quantile: float | None = None) -> Objective:
    return Objective.model_validate(
        {"text": "t", "measure": measure, "quantile": quantile, "comparison": comparison, "limit": limit}
    )


P99 = 0.99
OBJECTIVES = [
    (objective("lost", "==", 0), {}, "met"),
    (objective("lost", "==", 0), {"lost": 2}, "missed"),
    (objective("lost", "==", 0), {"lost": 2, "drained": False}, "cannot tell"),
    (objective("duplicated", "==", 0), {"duplicated": 1, "drained": False}, "missed"),
    (objective("duplicated", "==", 0), {"drained": False}, "cannot tell"),
    (objective("throughput", ">=", 1000), {}, "met"),
    (objective("throughput", ">", 1000), {}, "missed"),
    (objective("end_to_end_latency", "<", 1e9, P99), {}, "met"),
    (objective("end_to_end_latency", "<", 1e9, P99), {"drained": False}, "cannot tell"),
    (objective("end_to_end_latency", "<", 1.0, P99), {"drained": False}, "missed"),
    (objective("publish_latency", "<", 1e9, P99), {"drained": False}, "met"),
    (objective("end_to_end_latency", "<", 1e9, 0.9999), {}, "cannot tell"),  # 8,000 samples are not 29,956
    (objective("end_to_end_latency", "<", 1.0, 0.9999), {}, "cannot tell"),
]


@pytest.mark.parametrize(("wanted", "change", "met"), OBJECTIVES)
def test_objectives(wanted: Objective, change: dict[str, Any], met: str) -> None:
    plan = make_plan("run", cells=1, repeats=1, objectives=(wanted,))
    (result,), failures = objective_results(findings(changed("delivery", change), plan), plan.order)
    assert (result.met, failures) == (met, [])


def test_objective_is_judged_on_the_worst_repeat() -> None:
    plan = make_plan("run", cells=1, repeats=2, objectives=(objective("throughput", ">=", 900),))
    both = replace(findings(plan=plan), figures={("c01", "received_per_s"): {1: 1000.0, 2: 850.0}})
    (result,), _ = objective_results(both, plan.order)
    assert (result.met, result.value) == ("missed", 850.0)


def test_missed_objective_has_its_exit_code() -> None:
    plan = make_plan("run", cells=1, repeats=1, objectives=(objective("throughput", ">=", 5000),))
    verdict = judged(findings(plan=plan))
    assert verdict.exit_code() == 7
    assert "1 objective missed" in verdict.headline


@pytest.mark.parametrize(("q", "n"), [(0.99, 299), (0.999, 2995), (0.9999, 29956)])
def test_fewest_samples_for_a_quantile(q: float, n: int) -> None:
    assert fewest_samples(q) == n


def without_a_bucket() -> dict[str, list[dict[str, Any]]]:
    """Damaged tables, in a place that only objectives of a latency look at."""
    tables = good_tables()
    for row in tables["latency_histogram"]:
        del row["bucket"]
    return tables


def test_an_objective_whose_judging_crashes_is_never_met() -> None:
    wanted = (objective("end_to_end_latency", "<", 1e9, P99),)
    assert judged(findings(without_a_bucket())).verdict == "valid", "nothing else looks there"
    verdict = judged(findings(without_a_bucket(), make_plan("run", cells=1, repeats=1, objectives=wanted)))
    assert [(o.met, o.value) for o in verdict.objectives] == [("cannot tell", None)]
    assert (verdict.verdict, verdict.cells[0].verdict) == ("cannot tell", "cannot tell")
    (reason,) = verdict.reasons
    assert (reason.code, reason.weight, reason.cell) == ("check_failed", "cannot tell", "c01")
    assert reason.text == "the objective t could not be judged: KeyError: 'bucket'"
    assert verdict.headline.startswith("Cannot tell: the objective t could not be judged")


def test_an_objective_whose_judging_crashes_does_not_hide_that_another_is_missed() -> None:
    wanted = (objective("end_to_end_latency", "<", 1e9, P99), objective("throughput", ">=", 5000))
    verdict = judged(findings(without_a_bucket(), make_plan("run", cells=1, repeats=1, objectives=wanted)))
    assert [o.met for o in verdict.objectives] == ["cannot tell", "missed"]
    assert verdict.exit_code() == 7


def test_an_objective_whose_judging_crashes_does_not_make_an_invalid_run_better() -> None:
    wanted = (objective("end_to_end_latency", "<", 1e9, P99),)
    tables = without_a_bucket()
    tables["agent_health"][0].update(cpu_cores_mean=0.95, behind_max=500)
    verdict = judged(findings(tables, make_plan("run", cells=1, repeats=1, objectives=wanted)))
    assert (verdict.verdict, verdict.exit_code()) == ("invalid", 5)
