"""How long an analysis takes: `python -m benchmarks pipeline [CASE ...]`. Evidence with known truth is generated, analyzed in
a process of its own as users do it, and what was found is compared with the truth."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from benchmarks.known_evidence import FAULT_AFTER_S, Case, Truth, write_evidence
from benchmarks.known_run import mono_ns
from brokerlab.results.derived_tables import RECOUNT
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_rows
from brokerlab.results.tables import DELIVERY, FAULT, LATENCY_PER_PHASE

CASES = {
    case.name: (case, wanted_s)
    for case, wanted_s in (
        (Case("small", 100_000, lanes=4, seconds=11, slices=8, planted=5), 8),
        (Case("long-1e7", 10_000_000, seconds=120, slices=60), 15),
        (Case("long-1e8", 100_000_000, seconds=600, slices=60, planted=500), 45),
        (Case("competing-1e7", 10_000_000, run_length=1.6, consumers=4, seconds=120, slices=60, planted=500), 25),
        (Case("one-lane", 40_000_000, lanes=1, run_length=1.35, consumers=2, seconds=120, slices=60, planted=500), 90),
        (Case("tiny-segments", 2_000_000, lanes=8, agents=4, consumers=4, seconds=830, slices=830), 30),
        (Case("fault-1e7", 5_000_000, seconds=60, slices=30, message_rows=True, fault=True), 40),
        (Case("messages-1e8", 100_000_000, consumers=2, seconds=600, slices=120, planted=500, message_rows=True), 180),
    )
}  # fmt: skip
SESSION = "session"  # ten analyses in one session
_TEN = """
import sys, time, pathlib
from brokerlab.pipeline.analyze import analyze
from brokerlab.pipeline.session import spark_session
with spark_session():
    for _ in range(10):
        begun = time.monotonic()
        analyze(pathlib.Path(sys.argv[1]))
        print(time.monotonic() - begun, flush=True)
"""
_ANALYZE = "from brokerlab.cli.main import main; main()"
_DUCK = """
import sys, json, pathlib
from benchmarks.duck import answers
asked = json.loads(sys.argv[2])
print(json.dumps(answers(pathlib.Path(sys.argv[1]), asked["faults"], messages=asked["messages"])))
"""


@dataclass(frozen=True)
class Took:
    seconds: float
    cpu_s: float
    peak_bytes: int  # of all processes together
    said: str
    code: int


def measured(command: Sequence[str], limit_s: float = 600.0) -> Took:
    """Run a program to its end; memory and CPU of it and all it has started are looked at ten times a second."""
    begun = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        peak: list[int] = [0]
        cpu_s: dict[int, float] = {}
        over = threading.Event()
        looking = threading.Thread(target=_look, args=(running.pid, peak, cpu_s, over))
        looking.start()
        try:
            said, complaints = running.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            running.kill()
            said, complaints = "", f"not done after {limit_s:.0f} s"
        finally:
            over.set()
            looking.join()
    seconds = time.monotonic() - begun
    return Took(seconds, sum(cpu_s.values()), peak[0], said or complaints, running.returncode)


def _look(pid: int, peak: list[int], cpu_s: dict[int, float], over: threading.Event) -> None:
    while not over.wait(0.1):
        total = 0
        for child in [pid, *_children(pid)]:
            with suppress(psutil.Error):
                process = psutil.Process(child)
                times = process.cpu_times()
                cpu_s[child] = times.user + times.system
                total += process.memory_full_info().pss
        peak[0] = max(peak[0], total)


def _children(pid: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def wrong(run: Path, case: Case, truth: Truth) -> list[str]:
    """What the tables say otherwise than the truth."""
    directory = RunDirectory(run)
    (row,) = read_rows(directory, DELIVERY)
    expected = {name: getattr(truth, name) for name in ("sent", "received", "lost", "duplicated", "reordered")}
    found = [f"{n}: {row[n]} instead of {e}" for n, e in expected.items() if row[n] != e]
    if case.fault:
        (fault,) = read_rows(directory, FAULT)
        for side in ("publish", "delivery"):
            found_ns, true_ns = fault[f"{side}_outage_s"] * 1e9, getattr(truth, f"{side}_outage_ns")
            if abs(found_ns - true_ns) > 1:
                found.append(f"{side} outage: {found_ns} instead of {true_ns}")
    return found + (_wrong_messages(directory, truth) if case.keeps_messages else [])


def _wrong_messages(run: RunDirectory, truth: Truth) -> list[str]:
    """Counted message by message, delivery must be the truth as well, and latencies those of the histograms."""
    recount = {row["figure"]: row for row in read_rows(run, RECOUNT) if row["group"] or row["figure"] not in ("lost",)}
    found = [f"{n} differs by {row['difference']}" for n, row in recount.items() if row["difference"]]
    expected = {
        "acknowledged": truth.sent,
        "received": truth.received,
        "lost": truth.lost,
        "duplicated": truth.duplicated,
    }
    for name, n in expected.items():
        told = recount[name]["by_message"] if name in recount else "nothing"
        if told != n:
            found.append(f"{name} by message: {told} instead of {n}")
    for row in read_rows(run, LATENCY_PER_PHASE):
        true_ns = {"publish_latency": truth.publish_p99_ns, "end_to_end_latency": truth.end_to_end_p99_ns}.get(
            row["measure"]
        )
        if true_ns and not true_ns <= row["p99_ns"] <= true_ns * 129 / 128:
            found.append(f"p99 of {row['measure']}: {row['p99_ns']} instead of {true_ns}")
    return found


def bench(case: Case, wanted_s: float, root: Path, *, rounds: int, duck: bool) -> str:
    """A row of the table."""
    run = root / case.name
    truth = _evidence(run, case)
    files = sum(1 for _ in run.rglob("*.parquet"))
    load = os.getloadavg()[0]
    analyze = [sys.executable, "-c", _ANALYZE, "analyze", str(run), "--no-lake"]  # none of the user's lake
    took = min((measured(analyze) for _ in range(rounds)), key=_seconds)
    verdict = "all found" if took.code in (0, 5, 6) else f"exit code {took.code}: {took.said[-200:]}"
    sys.stderr.write(f"{case.name}: {took.seconds:.1f} s, {took.cpu_s:.1f} s of CPU, {verdict}\n")
    differing = wrong(run, case, truth) if took.code in (0, 5, 6) else []
    answer = "; ".join(differing) or verdict
    described = f"{case.messages:,} messages, {truth.ranges:,} ranges, {files:,} files"
    if truth.message_rows:
        described += f", {truth.message_rows:,} message rows"
    cells = [
        case.name,
        described,
        f"{wanted_s:g}",
        f"{took.seconds:.1f}",
        f"{took.cpu_s:.1f}",
        f"{took.peak_bytes / 1e9:.1f}",
        f"{load:.1f}",
    ]
    cells += [*_duck(run, case, truth, took), answer] if duck else ["–", "–", answer]
    return f"| {' | '.join(cells)} |"


def _evidence(run: Path, case: Case) -> Truth:
    """Generated, unless it is there from an earlier time (--directory)."""
    kept = run / "truth.json"
    if not kept.exists():
        truth = write_evidence(run, case)
        kept.write_text(json.dumps(asdict(truth)))
    return Truth(**json.loads(kept.read_text()))


def _seconds(took: Took) -> float:
    return took.seconds


def _duck(run: Path, case: Case, truth: Truth, ours: Took) -> list[str]:
    """Its time and CPU, and the ratio of CPU, where it finds the same: of times only on an idle machine."""
    times = [mono_ns(FAULT_AFTER_S), mono_ns(case.seconds)] if case.fault else None
    asked = json.dumps({"faults": times, "messages": case.keeps_messages})
    took = measured([sys.executable, "-c", _DUCK, str(run), asked])
    if took.code:
        return [f"failed: {took.said.strip().splitlines()[-1][:80]}", "–"]
    found = json.loads(took.said)
    expected = {name: getattr(truth, name) for name in ("sent", "received", "lost", "duplicated", "reordered")}
    again = found.get("messages", {})
    if any(found[name] != value or again.get(name, value) != value for name, value in expected.items()):
        return [f"{took.seconds:.1f} (differs)", "–"]
    return [f"{took.seconds:.1f} / {took.cpu_s:.1f}", f"{ours.cpu_s / took.cpu_s:.1f}"]


def session(root: Path) -> str:
    """Ten analyses in one session."""
    run = root / SESSION
    write_evidence(run, replace(CASES["small"][0], name=SESSION))
    took = measured([sys.executable, "-c", _TEN, str(run)])
    each = [float(line) for line in took.said.split()] if took.code == 0 else []
    said = ", ".join(f"{s:.1f}" for s in each) or took.said[-200:]
    return f"Ten analyses of a small run in one session, s each: {said}.\n"


def main(arguments: Sequence[str]) -> str:
    parser = argparse.ArgumentParser(prog="python -m benchmarks pipeline", description=__doc__)
    parser.add_argument(
        "cases", nargs="*", metavar="case", help=f"of {', '.join([*CASES, SESSION])}; all when none is given"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of the messages: only to see that it works")
    parser.add_argument("--rounds", type=int, default=1, help="the fastest of so many analyses counts (default 1)")
    parser.add_argument("--no-duckdb", action="store_true")
    parser.add_argument("--directory", type=Path, help="keep the evidence here")
    given = parser.parse_args(arguments)
    unknown = [c for c in given.cases if c not in (*CASES, SESSION)]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join([*CASES, SESSION])}")
    chosen = given.cases or [*CASES, SESSION]
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    command = " ".join(["python -m benchmarks pipeline", *arguments])
    machine = f"{os.cpu_count()} cores, kernel {platform.release()}, load before {os.getloadavg()[0]:.2f}"
    lines = [
        f"`{command}`: {when} UTC, {machine}\n",
        "| case | evidence | wanted, s | took, s | CPU, s | peak memory, GB | load | DuckDB, s / CPU, s | CPU, ours / DuckDB's | planted damage |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as name:
        root = given.directory or Path(name)
        for case, wanted_s in (CASES[c] for c in chosen if c != SESSION):
            smaller = replace(case, messages=int(case.messages * given.scale))
            lines.append(bench(smaller, wanted_s, root, rounds=given.rounds, duck=not given.no_duckdb))
        if SESSION in chosen:
            lines += ["", session(root)]
    return "\n".join([*lines, ""])
