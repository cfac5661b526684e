"""The host in one line; CPU of processes and of the whole host, read from /proc."""

from __future__ import annotations

import os
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def machine_line() -> str:
    """When and where: the first line of every benchmark's output. A machine that is not idle is reported on stderr."""
    load = os.getloadavg()[0]
    if load > 0.5:
        sys.stderr.write(f"the machine is not idle (load {load:.2f}): read ratios, not rates\n")
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    return f"{when} UTC, {os.cpu_count()} cores, kernel {platform.release()}, load before {load:.2f}\n"


def cpu_ns(pid: int) -> int:
    """User and system time of a process, all its threads, so far. 0 for a process that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) * TICK_NS


def family(pid: int) -> list[int]:
    """The process and all it has started that still runs."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def host_busy_ns() -> int:
    """Time all cores together were not idle, steal included."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) * TICK_NS


@dataclass(frozen=True)
class Mark:
    """One moment: what had been used until then."""

    mono_ns: int
    host_ns: int
    by_pid: dict[int, int]


def mark(pids: list[int]) -> Mark:
    return Mark(time.monotonic_ns(), host_busy_ns(), {pid: cpu_ns(pid) for pid in pids})


@dataclass(frozen=True)
class Usage:
    """Between two moments: seconds, CPU by process, and cores used by anything else."""

    seconds: float
    cpu_ns: dict[int, int]
    foreign_cores: float


def usage(a: Mark, b: Mark) -> Usage:
    seconds = (b.mono_ns - a.mono_ns) / 1e9
    ours = {pid: b.by_pid[pid] - a.by_pid.get(pid, 0) for pid in b.by_pid}
    foreign = (b.host_ns - a.host_ns - sum(ours.values())) / 1e9 / seconds
    return Usage(seconds, ours, max(0.0, foreign))
