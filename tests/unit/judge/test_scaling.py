"""The scalability law: curves of known truth are found again, intervals hold it, and a search by brute force agrees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from brokerlab.judge.scaling import fit_usl, usl_rate
from brokerlab.judge.scaling_rows import scaling_rows
from brokerlab.model.plan import RunPlan
from synthetic import make_plan

N = np.repeat([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], 4)


@pytest.mark.parametrize(
    ("alone", "contention", "coherency"),
    [(1000.0, 0.05, 0.001), (123_456.0, 0.3, 0.02), (50.0, 0.0, 0.005), (7.0, 0.1, 0.0), (900.0, 0.0, 0.0)],
)
def test_a_curve_without_noise_is_found_again(alone: float, contention: float, coherency: float) -> None:
    found = fit_usl(N, usl_rate(N, alone, contention, coherency))
    assert found.alone.value == pytest.approx(alone, rel=1e-5)
    assert found.contention.value == pytest.approx(contention, abs=1e-6)
    assert found.coherency.value == pytest.approx(coherency, abs=1e-8)
    assert found.deviation < 1e-5
    if coherency:
        knee = np.sqrt((1 - contention) / coherency)
        assert found.knee is not None
        assert found.knee.value == pytest.approx(knee, rel=1e-3)
        assert found.highest == pytest.approx(usl_rate(knee, alone, contention, coherency), rel=1e-4)


def test_intervals_hold_the_truth_in_about_95_of_100_runs() -> None:
    rng = np.random.default_rng(11)
    truth = {"alone": 1000.0, "contention": 0.08, "coherency": 0.004}
    knee = np.sqrt((1 - 0.08) / 0.004)
    held = dict.fromkeys([*truth, "knee"], 0)
    runs = 300
    for _ in range(runs):
        found = fit_usl(N, usl_rate(N, *truth.values()) * np.exp(rng.normal(0, 0.05, len(N))))
        for name, value in (truth | {"knee": float(knee)}).items():
            estimate = getattr(found, name)
            held[name] += estimate is not None and estimate.low <= value <= (estimate.high or np.inf)
    for name, times in held.items():
        assert times / runs >= 0.91, (name, times)
    assert held["alone"] / runs <= 0.99  # so wide that nothing is said would hold it always


def test_no_curve_of_a_fine_grid_is_nearer_to_the_measured_rates() -> None:
    rng = np.random.default_rng(12)
    rate = usl_rate(N, 800.0, 0.15, 0.01) * np.exp(rng.normal(0, 0.1, len(N)))
    found = fit_usl(N, rate)
    own = (
        (np.log(rate) - np.log(usl_rate(N, found.alone.value, found.contention.value, found.coherency.value))) ** 2
    ).sum()
    best = np.inf
    for contention, coherency in itertools.product(np.linspace(0, 0.5, 101), np.linspace(0, 0.04, 101)):
        apart = np.log(rate) - np.log(usl_rate(N, 1.0, contention, coherency))
        best = min(best, ((apart - apart.mean()) ** 2).sum())
    assert own <= best
    assert best < 1.001 * own


def test_rates_that_only_rise_have_no_knee() -> None:
    found = fit_usl(N, 100 * N)
    assert (found.contention.value, found.coherency.value, found.knee, found.highest) == (0.0, 0.0, None, None)


def swept(axis: str, values: list[int], *, closed: bool = True) -> RunPlan:
    plan = make_plan("run", cells=len(values), arrival="closed" if closed else "uniform")
    cells = [
        cell.model_copy(
            update={
                "broker": "kafka",
                "parameters": {axis: str(n)},
                "producers": cell.producers.model_copy(update={"count": n}),
                "partitions": n,
            }
        )
        for cell, n in zip(plan.cells, values, strict=True)
    ]
    return plan.model_copy(update={"cells": tuple(cells)})


def figures_of(values: list[int], repeats: int = 3) -> dict[tuple[str, str], dict[int, float]]:
    return {
        (f"c{i + 1:02d}", "sent_per_s"): {r + 1: float(usl_rate(np.array(n), 500.0, 0.1, 0.01)) * (1 + 0.01 * r) for r in range(repeats)}
        for i, n in enumerate(values)
    }  # fmt: skip


def test_a_sweep_over_producers_gets_a_curve_with_its_knee() -> None:
    values = [1, 2, 4, 8, 16]
    (row,) = scaling_rows(figures_of(values), swept("producers.count", values), lambda _e: True, lambda _c: True)
    assert (row["axis"], row["series"], row["metric"], row["points"], row["executions"]) == (
        "producers.count", "kafka", "sent_per_s", 5, 15,
    )  # fmt: skip
    assert (row["cells"], row["left_out"]) == ("c01, c02, c03, c04, c05", "")
    assert row["contention_low"] <= 0.1 <= row["contention_high"]
    assert row["knee"] == pytest.approx(np.sqrt(0.9 / 0.01), rel=0.1)
    assert (row["knee_measured"], row["reason"]) == (True, "")


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (swept("producers.count", [1, 2, 4]), "3 different values with a rate, 4 are needed"),
        (swept("producers.message", [1, 2, 4, 8]), "producers.message is no number of things at work at the same time"),
        (swept("producers.count", [1, 2, 4, 8], closed=False), "the schedule sets the rate of c01, c02, c03, c04: "),
    ],
)
def test_where_there_is_no_curve_the_row_says_why(plan: RunPlan, reason: str) -> None:
    (row,) = scaling_rows(figures_of([1, 2, 4, 8][: len(plan.cells)]), plan, lambda _e: True, lambda _c: True)
    assert row["reason"].startswith(reason)
    assert (row["alone_per_s"], row["contention"], row["knee"]) == (None, None, None)


def test_executions_that_do_not_count_have_no_part_and_a_run_without_a_sweep_has_no_rows() -> None:
    values = [1, 2, 4, 8]
    (row,) = scaling_rows(
        figures_of(values), swept("producers.count", values), lambda e: e.repeat == 1, lambda _c: True
    )
    assert row["reason"] == "4 executions, 5 are needed"
    assert scaling_rows(figures_of([1]), make_plan("run", cells=1), lambda _e: True, lambda _c: True) == []


def test_a_cell_that_is_not_believed_has_no_part_in_the_curve_and_is_named() -> None:
    values = [1, 2, 4, 8, 16]
    rates = figures_of(values)
    rates["c03", "sent_per_s"] = {1: 1.0}
    plan = swept("producers.count", values)
    (row,) = scaling_rows(rates, plan, lambda _e: True, lambda cell: cell != "c03")
    assert (row["cells"], row["left_out"], row["points"]) == ("c01, c02, c04, c05", "c03", 4)
    assert row["contention"] == pytest.approx(0.1, abs=0.02)


def test_where_cells_that_are_not_believed_leave_too_few_the_reason_names_them() -> None:
    values = [1, 2, 4, 8]
    plan = swept("producers.count", values)
    (row,) = scaling_rows(figures_of(values), plan, lambda _e: True, lambda cell: cell > "c02")
    assert row["reason"] == "2 different values with a rate, 4 are needed; the rates of c01, c02 are not valid"
