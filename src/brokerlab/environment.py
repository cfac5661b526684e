"""What the numbers were measured on: host, versions, clocks. Goes into environment.json."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from pathlib import Path

import brokerlab
from brokerlab.model.environment import Clock, ClockPair, Environment, Host
from brokerlab.native import library, why_not
from brokerlab.native.build import built_library


def clock_pair() -> ClockPair:
    """The same instant on both clocks, from the tightest of a few readings."""
    readings = []
    for _ in range(20):
        before = time.monotonic_ns()
        unix_ns = time.time_ns()
        after = time.monotonic_ns()
        readings.append((after - before, (before + after) // 2, unix_ns))
    _, mono_ns, unix_ns = min(readings)
    return ClockPair(mono_ns=mono_ns, unix_ns=unix_ns)


def _git_head() -> str | None:
    here = Path(__file__).parents[2]
    if not (here / ".git").exists():
        return None
    said = subprocess.run(["git", "-C", str(here), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return said.stdout.strip() or None


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def environment(run: str, java: str | None) -> Environment:
    """Facts about this machine and this installation, as environment.json begins."""
    return Environment(
        run=run,
        brokerlab=brokerlab.__version__,
        git_head=_git_head(),
        python=platform.python_version(),
        java=java,
        native_library=built_library().name if library() is not None else f"none: {why_not()}",
        host=Host(
            name=platform.node(),
            cpu_count=os.cpu_count(),
            cpu_model=_cpu_model(),
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            kernel=platform.release(),
            system=platform.system(),
        ),
        clock=Clock(start=clock_pair()),
    )
