"""What `doctor` looks at. Each check gives findings; each problem carries the command that fixes it."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from brokerlab.brokers.registry import BROKERS
from brokerlab.doctor import measurements
from brokerlab.model.quantities import format_bytes, format_duration_ns

State = Literal["fine", "note", "warning", "missing"]

OPEN_FILES_WANTED = 4096
FREE_WANTED_BYTES = 5 * 2**30
FREE_NEEDED_BYTES = 1 * 2**30
LATENESS_WANTED_NS = 1_000_000
OTHER_LOAD_CORES = 0.2
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@dataclass(frozen=True)
class Finding:
    """`missing` is something required; a `warning` costs speed, precision or a feature; `fix` is a command."""

    name: str
    state: State
    text: str
    fix: str | None = None
    value: float | None = None


def check_host() -> list[Finding]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = len(os.sched_getaffinity(0))
    said = f"{cores} core{'s' if cores > 1 else ''}, {format_bytes(memory)} memory, {platform.system()} {platform.release()}"
    findings = [Finding("host", "fine", said)]
    if cores < 2:
        findings.append(Finding("cores", "warning", "one core: agents and broker share it", "nproc"))
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor.exists():
        kind = governor.read_text().strip()
        good = kind == "performance"
        fix = None if good else "sudo cpupower frequency-set -g performance"
        findings.append(Finding("governor", "fine" if good else "warning", kind, fix))
    else:
        findings.append(Finding("governor", "note", "not reported by this kernel (common in virtual machines)"))
    return findings


def check_python() -> list[Finding]:
    return [Finding("python", "fine", f"{platform.python_version()} at {sys.executable}")]


def check_java() -> list[Finding]:
    """The analysis and brokers in Java need one; a run, and installing such a broker, fetch it where there is none."""
    from brokerlab.install.java import find_java

    found = find_java()
    if found is None:
        needed = "no Java 17 or newer, needed by the analysis and by brokers in Java"
        return [Finding("java", "missing", needed, "brokerlab demo fetches one; or install it and set JAVA_HOME")]
    return [Finding("java", "fine", f"{found.version} at {found.path} ({found.source})")]


def check_native() -> list[Finding]:
    from brokerlab import native
    from brokerlab.native.build import compiler

    cc = compiler()
    why_not = native.why_not()
    if not why_not:
        return [Finding("C library", "fine", f"loaded (compiler: {cc or 'none, built before'})")]
    fix = "sudo apt-get install gcc libc6-dev" if cc is None else "unset BROKERLAB_NATIVE"
    if cc is not None and "BROKERLAB_NATIVE" not in os.environ:
        fix = "BROKERLAB_TRACEBACK=1 brokerlab doctor"
    return [Finding("C library", "warning", f"the slower Python paths are used: {why_not.splitlines()[0]}", fix)]


def check_broker(name: str) -> list[Finding]:
    from brokerlab.brokers.registry import broker_named

    front = broker_named(name)
    here = front.installation()
    said = f"{front.product} {here.version or front.version}"
    if not front.capabilities.nodes:
        return [Finding(name, "note", f"{said} does not run here: {here.reason}")]
    if not here.installed:
        return [Finding(name, "note", f"{said}, not installed yet", f"brokerlab install {name}")]
    if not here.runs_here:
        return [Finding(name, "warning", f"{said} does not run here: {here.reason}", f"brokerlab install {name}")]
    return [Finding(name, "fine", f"{said}, {here.reason}")]


def check_clock() -> list[Finding]:
    source_file = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    source = source_file.read_text().strip() if source_file.exists() else "unknown"
    resolution_ns = time.clock_getres(time.CLOCK_MONOTONIC) * 1e9
    read_ns = measurements.clock_read_ns()
    slow = source in ("hpet", "acpi_pm", "jiffies") or resolution_ns > 1000
    fix = "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource" if slow else None
    said = f"source {source}, resolution {resolution_ns:.0f} ns, a reading costs {read_ns:.0f} ns from Python"
    findings = [Finding("clock", "warning" if slow else "fine", said, fix, read_ns)]
    synchronized = measurements.clock_synchronized()
    if synchronized is None:
        findings.append(Finding("NTP", "note", "not known here; not needed on one host"))
    elif synchronized:
        findings.append(Finding("NTP", "fine", "the kernel's clock is synchronized"))
    else:
        text = "the kernel's clock is not synchronized (matters only between hosts)"
        findings.append(Finding("NTP", "note", text, "sudo timedatectl set-ntp true"))
    return findings


def check_disk(runs: Path) -> list[Finding]:
    where = measurements.existing_parent(runs)
    free = shutil.disk_usage(where).free
    state: State = "fine" if free >= FREE_WANTED_BYTES else "warning" if free >= FREE_NEEDED_BYTES else "missing"
    fix = None if state == "fine" else "export BROKERLAB_RUNS=<a directory on a larger disk>"
    findings = [Finding("free space", state, f"{format_bytes(free)} in {where}", fix, free)]
    if not os.access(where, os.W_OK):
        text = f"runs cannot be written to {where}"
        return [
            *findings,
            Finding("runs directory", "missing", text, "export BROKERLAB_RUNS=<a directory you can write to>"),
        ]
    times = measurements.fsync_times_ns(where)
    p50, p99 = measurements.quantile(times, 0.5), measurements.quantile(times, 0.99)
    said = f"p50 {format_duration_ns(p50)}, p99 {format_duration_ns(p99)} for 4 KiB ({len(times)} times) in {where}"
    return [*findings, Finding("fsync", "fine", said, None, p99)]


def check_pacing() -> list[Finding]:
    """How late a sleeping thread wakes, and what else keeps this machine busy, over the same half second."""
    lateness, other_cores = measurements.sleep_lateness_ns()
    p99 = measurements.quantile(lateness, 0.99)
    late = p99 > LATENESS_WANTED_NS
    busy = other_cores > OTHER_LOAD_CORES
    find = "ps -eo pcpu,pid,args --sort=-pcpu | head"
    said = f"a 1 ms sleep ends {format_duration_ns(p99)} late (p99 of {len(lateness)})"
    return [
        Finding("pacing", "warning" if late else "fine", said, find if late else None, p99),
        Finding(
            "other load", "warning" if busy else "fine", f"{other_cores:.2f} cores used by other programs",
            find if busy else None, other_cores,
        ),
    ]  # fmt: skip


def check_limits() -> list[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = soft >= OPEN_FILES_WANTED or soft == resource.RLIM_INFINITY
    most = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    fix = None if enough else f"ulimit -n {max(OPEN_FILES_WANTED, 65536) if most == 'unlimited' else most}"
    return [Finding("open files", "fine" if enough else "warning", f"limit {soft} (at most {most})", fix, soft)]


def check_browser() -> list[Finding]:
    found = next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)
    if found:
        return [Finding("chromium", "fine", f"{found} (for the browser tests)")]
    return [
        Finding(
            "chromium", "note", "not found; only the project's browser tests need it", "sudo apt-get install chromium"
        )
    ]


def all_findings(runs: Path, say: Callable[[str], None]) -> list[Finding]:
    """Every check in order. One that crashes is a warning of its own, never a pass."""
    checks: list[tuple[str, Callable[[], list[Finding]]]] = [
        ("host", check_host),
        ("python", check_python),
        ("java", check_java),
        ("C library", check_native),
        *((name, lambda name=name: check_broker(name)) for name in BROKERS),
        ("clock", check_clock),
        ("disk", lambda: check_disk(runs)),
        ("pacing", check_pacing),
        ("limits", check_limits),
        ("browser", check_browser),
    ]
    findings: list[Finding] = []
    for name, check in checks:
        say(f"checking {name}")
        try:
            findings.extend(check())
        except Exception as e:  # the point of doctor is to report whatever is wrong here
            text = f"could not be checked: {type(e).__name__}: {e}"
            findings.append(Finding(name, "warning", text, "BROKERLAB_TRACEBACK=1 brokerlab doctor"))
            if os.environ.get("BROKERLAB_TRACEBACK"):
                raise
    return findings
