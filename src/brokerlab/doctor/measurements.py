"""The small measurements `doctor` makes: fsync, sleep lateness, clock cost, clock synchronization."""

from __future__ import annotations

import ctypes
import math
import os
import tempfile
import time
from pathlib import Path

_TIMEX_BYTES = 256  # more than struct timex on any 64-bit Linux; all zero means "only tell me"
_TIME_ERROR = 5


def quantile(values: list[int], q: float) -> int:
    """The sample of rank ceil(q * n)."""
    ordered = sorted(values)
    return ordered[max(math.ceil(q * len(ordered)), 1) - 1]


def existing_parent(path: Path) -> Path:
    """The directory itself, or the nearest one above that exists."""
    return next(p for p in (path, *path.parents) if p.is_dir())


def fsync_times_ns(directory: Path, count: int = 100, most_s: float = 3.0) -> list[int]:
    """Times of write-and-fsync of 4 KiB at the end of a file; fewer than `count` on a disk that is very slow."""
    block = os.urandom(4096)
    times: list[int] = []
    with tempfile.TemporaryFile(dir=directory) as f:
        started = time.monotonic()
        while len(times) < count and (not times or time.monotonic() - started < most_s):
            begin = time.monotonic_ns()
            os.write(f.fileno(), block)
            os.fsync(f.fileno())
            times.append(time.monotonic_ns() - begin)
    return times


def sleep_lateness_ns(for_s: float = 0.5, sleep_s: float = 0.001) -> tuple[list[int], float]:
    """How late each sleep of 1 ms ended (clock_nanosleep), and the cores other processes kept busy meanwhile."""
    lateness = []
    busy, own, begin = _busy_s(), time.process_time(), time.monotonic()
    while time.monotonic() - begin < for_s:
        before = time.monotonic_ns()
        time.sleep(sleep_s)
        lateness.append(time.monotonic_ns() - before - int(sleep_s * 1e9))
    elapsed = time.monotonic() - begin
    others = (_busy_s() - busy - (time.process_time() - own)) / elapsed
    return lateness, max(others, 0.0)


def _busy_s() -> float:
    """CPU seconds of all processes since boot; /proc/stat has a resolution of 10 ms."""
    with Path("/proc/stat").open() as f:
        user, nice, system, _idle, _iowait, irq, softirq = (int(x) for x in f.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def clock_read_ns(count: int = 2000) -> float:
    """What one reading of the monotonic clock costs from Python."""
    begin = time.monotonic_ns()
    for _ in range(count):
        time.monotonic_ns()
    return (time.monotonic_ns() - begin) / count


def clock_synchronized() -> bool | None:
    """What the kernel says about its clock; None where it cannot be asked."""
    try:
        adjtimex = ctypes.CDLL(None, use_errno=True).adjtimex
    except (OSError, AttributeError):
        return None
    state = adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    return None if state < 0 else state != _TIME_ERROR
