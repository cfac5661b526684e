"""A server process and what it starts stay on their cores and within their share."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from brokerlab.model.plan import MachinePlan
from brokerlab.probes.confined import PlacementProbe
from brokerlab.processes.confinement import Confinement
from brokerlab.processes.process import ServerProcess

CORE = min(os.sched_getaffinity(0))
# Its child ends with it, as it is killed by its group.
FAMILY = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); time.sleep(60)"


def started(tmp_path: Path, confinement: Confinement) -> ServerProcess:
    process = ServerProcess(
        "node-1", [sys.executable, "-c", FAMILY], tmp_path / "log", tmp_path, os.environ, confinement
    )
    process.start()
    return process


def children(process: ServerProcess) -> list[psutil.Process]:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if found := psutil.Process(process.pid).children(recursive=True):
            return found
        time.sleep(0.02)
    raise AssertionError("no child was started")


def test_children_run_on_the_same_cores_and_a_reading_tells_when_one_leaves(tmp_path: Path) -> None:
    process = started(tmp_path, Confinement(MachinePlan(node_cores=(CORE,)), tmp_path))
    try:
        (child,) = children(process)
        assert os.sched_getaffinity(process.pid) == os.sched_getaffinity(child.pid) == {CORE}
        probe = PlacementProbe("node-1", process.pid, (CORE,), search_every=1)
        (reading,) = probe.read()
        assert (reading.subject, reading.metric, reading.value) == ("process:node-1", "threads_outside_placement", 0)
        everywhere = os.sched_getaffinity(0)
        if everywhere == {CORE}:
            pytest.skip("one core: there is no other to leave to")
        os.sched_setaffinity(child.pid, everywhere)
        assert probe.read()[0].value == 1
    finally:
        process.kill()
    assert probe.read() == []


def test_without_limits_nothing_is_made(tmp_path: Path) -> None:
    confinement = Confinement(MachinePlan(), tmp_path)
    process = started(tmp_path, confinement)
    try:
        assert os.sched_getaffinity(process.pid) == os.sched_getaffinity(0)
    finally:
        process.kill()
    confinement.end()
