"""How long a plan takes, roughly: what warming up new clusters adds to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.brokers.registry import broker_named
from brokerlab.model.plan import RunPlan
from brokerlab.workload.estimate import ANALYSIS_S, AROUND_S, START_S_PER_NODE, estimate, lengths_s
from brokerlab.workload.load import plan_workload

WORKLOAD = """
name: estimated
question: How long does it take?
broker: memory
cluster: {kept: KEPT}
producers: {rate: 100/s}
phases: {warm_up: 5sMORE, measure: 10s}
repeats: 4
"""


def planned(folder: Path, *, kept: str, more: str = "") -> RunPlan:
    file = folder / "w.yaml"
    file.write_text(WORKLOAD.replace("KEPT", kept).replace("MORE", more))
    return plan_workload(file, broker_named=broker_named)


def seconds(folder: Path, *, kept: str, more: str = "") -> float:
    return estimate(planned(folder, kept=kept, more=more)).seconds


@pytest.mark.parametrize(("kept", "new_clusters"), [("true", 1), ("false", 4)])
def test_a_first_warm_up_is_counted_once_for_each_new_cluster(tmp_path: Path, kept: str, new_clusters: int) -> None:
    longer_s = seconds(tmp_path, kept=kept, more=", first_warm_up: 60s") - seconds(tmp_path, kept=kept)
    assert longer_s == pytest.approx((60 + AROUND_S) * new_clusters)


def test_only_the_first_execution_on_a_kept_cluster_is_longer(tmp_path: Path) -> None:
    plan = planned(tmp_path, kept="true", more=", first_warm_up: 60s")
    first, *others = lengths_s(plan)
    assert first > 60
    assert others == [pytest.approx(first - 60 - AROUND_S - START_S_PER_NODE)] * 3
    assert estimate(plan).seconds == pytest.approx(first + sum(others) + ANALYSIS_S)
