"""How long a plan takes, roughly: what a longer warm-up of new clusters adds to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.brokers.registry import broker_named
from brokerlab.workload.estimate import estimate
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


def seconds(folder: Path, *, kept: str, more: str = "") -> float:
    file = folder / "w.yaml"
    file.write_text(WORKLOAD.replace("KEPT", kept).replace("MORE", more))
    return estimate(plan_workload(file, broker_named=broker_named)).seconds


@pytest.mark.parametrize(("kept", "new_clusters"), [("true", 1), ("false", 4)])
def test_a_first_warm_up_is_counted_once_for_each_new_cluster(tmp_path: Path, kept: str, new_clusters: int) -> None:
    longer_s = seconds(tmp_path, kept=kept, more=", first_warm_up: 60s") - seconds(tmp_path, kept=kept)
    assert longer_s == pytest.approx(55 * new_clusters)
