"""Known series, one execution each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from brokerlab.model.arrow import arrow_schema
from brokerlab.model.steadiness import standard_errors
from brokerlab.pipeline.steadiness import steadiness
from brokerlab.results.tables import LATENCY_PER_SECOND, RATE_PER_SECOND

NOISE = np.random.default_rng(3).normal(0, 0.03, 41)
SENT: dict[str, Any] = {
    "even": 1000 * (1 + NOISE),
    "rising": np.linspace(700, 1000, 41) * (1 + NOISE),
    "falling": np.linspace(1000, 700, 41) * (1 + NOISE),
    "wild": np.where(np.arange(41) % 2, 1600, 400) * (1 + NOISE),
    "stepped": np.where(np.arange(41) < 25, 1000, 880) * (1 + NOISE / 3),
    "short": np.full(5, 1000.0),
    "five": np.full(6, 1000.0),
    "steep": np.full(6, 1000.0),
}
P99_NS: dict[str, Any] = {
    "even": 5e6 * (1 + NOISE),
    "rising": np.geomspace(1e6, 2e7, 41),
    "falling": np.geomspace(2e7, 1e6, 41),
    "five": np.array([4.8e7, 1e7, 6e5, 7e5, 6e5, 6e5]),  # one stall at the beginning of a few seconds
    "steep": np.array([3.2e7, 1.6e7, 8e6, 4e6, 2e6, 1e6]),
}


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, str], dict[str, Any]]:
    rates, latencies = [], []
    for cell, series in SENT.items():
        for i, x in enumerate(series):
            if cell == "even" and i == 20:
                continue  # no agent wrote anything in this second: it counts as zero
            row = {c.name: 0 for c in RATE_PER_SECOND.columns if c.type == "long"}
            rates.append({**row, "cell": cell, "repeat": 1, "second_unix_s": i, "phase": "measure", "role": "producer",
                          "group": "", "sent": int(x)})  # fmt: skip
    for cell, series in P99_NS.items():
        for i, x in enumerate(series):
            row = {c.name: 0 for c in LATENCY_PER_SECOND.columns if c.type in ("long", "double")}
            latencies.append({**row, "cell": cell, "repeat": 1, "second_unix_s": i, "phase": "measure",
                              "measure": "publish_latency", "group": "", "p99_ns": int(x)})  # fmt: skip
    made = {}
    for cell in SENT:
        of_cell = [
            pa.Table.from_pylist([r for r in rows if r["cell"] == cell], arrow_schema(table.computed()))
            for rows, table in ((rates, RATE_PER_SECOND), (latencies, LATENCY_PER_SECOND))
        ]
        made |= {(cell, row["series"]): row for row in steadiness(*of_cell).to_pylist()}
    return made


@pytest.mark.parametrize(
    ("cell", "label"),
    [("even", "flat"), ("rising", "warming"), ("falling", "slowing"), ("wild", "none"), ("short", "short")],
)
def test_label_of_a_rate(found: dict[tuple[str, str], dict[str, Any]], cell: str, label: str) -> None:
    assert found[cell, "sent"]["label"] == label


@pytest.mark.parametrize(
    ("cell", "label"),
    [("even", "flat"), ("rising", "slowing"), ("falling", "warming"), ("five", "none"), ("steep", "warming")],
)
def test_a_latency_that_rises_is_slowing(found: dict[tuple[str, str], dict[str, Any]], cell: str, label: str) -> None:
    assert found[cell, "publish_latency_log_p99"]["label"] == label


def test_mean_variation_and_slope_are_numpys(found: dict[tuple[str, str], dict[str, Any]]) -> None:
    x = np.array([int(v) for v in SENT["rising"][:-1]], float)  # the last labelled second is left out
    row = found["rising", "sent"]
    assert row["seconds"] == 40
    assert row["mean"] == pytest.approx(x.mean())
    assert row["variation"] == pytest.approx(x.std(ddof=1) / x.mean())
    assert row["slope_per_minute"] == pytest.approx(np.polyfit(np.arange(40), x, 1)[0] / x.mean() * 60)


@pytest.mark.parametrize(("freedom", "student"), [(3, 9.22), (5, 5.51), (10, 3.96), (30, 3.27)])
def test_few_points_must_stand_out_as_student_says(freedom: int, student: float) -> None:
    """Values of t that a chance of 0.135 % exceeds, from a table; the expansion is a little lower for very few."""
    expanded = standard_errors(freedom + 2)
    assert expanded == pytest.approx(student, rel=0.1)
    assert expanded <= student * 1.01


def test_a_step_is_found_where_it_is(found: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert found["stepped", "sent"]["change_second"] == 25


def test_a_second_without_any_row_counts_as_zero(found: dict[tuple[str, str], dict[str, Any]]) -> None:
    x = np.array([int(v) for v in SENT["even"][:-1]], float)
    x[20] = 0
    assert found["even", "sent"]["seconds"] == 40
    assert found["even", "sent"]["mean"] == pytest.approx(x.mean())
