"""Cores and a share of a processor, from the plan to the readings and the settings read back; undone afterwards."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from brokerlab import runner
from brokerlab.brokers.registry import broker_named
from brokerlab.cli.progress import SilentListener
from brokerlab.errors import MachineError
from brokerlab.evidence.segments import rows
from brokerlab.evidence.tables import INTERVAL, READING
from brokerlab.machine.cgroups import Group, Limits, place_of
from brokerlab.workload.load import plan_workload

FIRST, LAST = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
WORKLOAD = f"""
name: placed
question: Do processes stay where they are put?
broker: memory
placement: {{nodes: [{FIRST}], producers: [{LAST}], consumers: [{LAST}]}}
producers: {{rate: 500/s, message: 200B}}
consumers: {{groups: 1}}
phases: {{warm_up: 0s, measure: 2s, drain_limit: 60s}}
retries: 0
"""


def possible() -> bool:
    try:
        Group("trial", Limits(cpu_share=0.5, memory_bytes=1 << 28), Path()).remove()
    except MachineError:
        return False
    return True


def test_what_was_asked_is_read_back_and_held(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    limited = possible()
    file = tmp_path / "workload.yaml"
    file.write_text(
        WORKLOAD + ("cluster: {cpu_share_per_node: 0.5, memory_limit_per_node: 256MiB}\n" if limited else "")
    )
    run = runner.run(plan_workload(file, broker_named=broker_named), tmp_path / "runs", say=SilentListener())
    (execution,) = run.plan().order
    settings = run.environment().cell("c01").effective_settings
    assert settings["machine: memory-1"]["cores"] == str(FIRST)
    assert settings["machine: producer-1"] == settings["machine: consumer-g1-1"] == {"cores": str(LAST)}
    readings = list(rows(run.probes(execution), READING))
    outside = {r["subject"]: r["value"] for r in readings if r["metric"] == "threads_outside_placement"}
    assert outside == {"process:memory-1": 0, "process:producer-1": 0, "process:consumer-g1-1": 0}
    if not limited:
        pytest.skip("no control groups can be made here: the share was not tried")
    assert settings["machine: memory-1"]["cpu_share"].startswith("0.5 of a processor (control group ")
    assert {r["value"] for r in readings if r["metric"] == "cpu_limit_cores"} == {0.5}
    assert settings["machine: memory-1"]["memory_limit"].startswith(f"{256 << 20} bytes (control group ")
    assert {r["value"] for r in readings if r["metric"] == "group_memory_limit_bytes"} == {256 << 20}
    assert not list(place_of("memory").directory.glob(f"brokerlab-{os.getpid()}-*"))
    assert not list(place_of("cpu").directory.glob(f"brokerlab-{os.getpid()}-*"))


LINKED = """
name: linked
question: Does everything pass through the link, and not faster?
broker: memory
cluster: {link_cap: 2MB/s}
producers: {window: 200, message: 2KiB}
consumers: {groups: 1}
phases: {warm_up: 0s, measure: 3s, drain_limit: 60s}
retries: 0
"""


def test_a_capped_link_carries_everything_and_no_more_than_its_cap(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    file = tmp_path / "workload.yaml"
    file.write_text(LINKED)
    run = runner.run(plan_workload(file, broker_named=broker_named), tmp_path / "runs", say=SilentListener())
    (execution,) = run.plan().order
    assert run.state().of(execution).state == "finished"
    assert "2 MB/s each way" in run.environment().cell("c01").effective_settings["machine: link-1"]["link_cap"]
    readings = [r for r in rows(run.probes(execution), READING) if r["metric"] == "link_to_node_bytes_total"]
    first, last = readings[0], readings[-1]
    sent = sum(r["sent"] for r in rows(run.evidence(execution), INTERVAL))
    assert sent > 500
    assert last["value"] >= 0.8 * sent * 2048
    elapsed_s = (last["at_mono_ns"] - first["at_mono_ns"]) / 1e9
    assert (last["value"] - first["value"]) / elapsed_s <= 2_000_000 * 1.05
