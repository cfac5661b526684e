"""Verdicts that survive a real machine: the demo beside a disturber must be valid, a planted error must be named.

`python -m benchmarks verdicts [--rounds N] [--only demos|planted] [--case NAME ...] [--keep DIR]`: N demos, one after the
other, beside a program of bursts; then N executions with each planted error. All of it takes an hour with 10 rounds, so parts
can be run alone. A demo is run as a user runs it, by the command. The runs are deleted unless there is a DIR to keep them in.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.machine import machine_line
from benchmarks.planting import BURSTS, Plant, keep_busy, planted, programs, step_clock, stop_for
from brokerlab import lab
from brokerlab.results.directory import run_directories
from brokerlab.results.reader import read_rows
from brokerlab.results.tables import DELIVERY
from brokerlab.results.verdict import Verdict

MEASURE_S = 6


@dataclass(frozen=True)
class Case:
    """A planted error, and the reasons or delivery counts of which one must name it in every execution.

    The reason's value must reach `least`: a pause of 3 s is not named by one of 0.3 s that the machine made.
    """

    name: str  # on the command line
    words: str
    named_by: tuple[str, ...]
    plant: Plant | None = None
    broker: str = "nats"
    rate: str = "2_000/s"
    settings: dict[str, str] | None = None
    least: float = 0.0
    counts: bool = False  # named by counts of the table `delivery`, which the verdict must have too
    violates: bool = False  # the verdict must say that delivery was violated


CASES = (
    Case(
        "agent-stopped", "a producer's agent stopped for 1 s", ("agent_paused",), stop_for("producer", 1.0), least=0.9
    ),
    Case("cores-busy", "both cores busy", ("noisy_neighbour",), keep_busy(MEASURE_S)),
    Case("impossible-rate", "an impossible rate", ("load_not_delivered", "agent_saturated"), rate="20_000_000/s"),
    Case(
        "consumer-stopped",
        "a consumer's agent stopped for 3 s",
        ("agent_paused",),
        stop_for("consumer", 3.0),
        least=2.7,
    ),
    Case("clock-stepped", "the clock stepped by 2 s", ("clock_stepped",), step_clock(2.0)),
    Case("loss", "loss of 0.1 %", ("lost",), broker="faulty", settings={"loss": "0.001"}, counts=True, violates=True),
    Case(
        "duplication",
        "duplication of 0.1 %",
        ("duplicated",),
        broker="faulty",
        settings={"duplication": "0.001"},
        counts=True,
    ),
    Case(
        "corruption",
        "corruption of 0.1 %",
        ("corrupted",),
        broker="faulty",
        settings={"corruption": "0.001"},
        counts=True,
        violates=True,
    ),
)


def main(arguments: Sequence[str]) -> str:
    """Markdown tables of what the arguments ask for."""
    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(prog="python -m benchmarks verdicts", description="Verdicts on a real machine.")
    parser.add_argument("--rounds", type=int, default=5, help="demos, and executions of each case (default 5)")
    parser.add_argument("--only", choices=("demos", "planted"), help="one of the two parts")
    parser.add_argument(
        "--case", action="append", choices=names, metavar="NAME",
        help=f"planted errors of this kind only, may be repeated: {', '.join(names)}",
    )  # fmt: skip
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the runs here; it must not hold anything yet")
    given = parser.parse_args(arguments)
    if given.keep is not None and given.keep.exists() and any(given.keep.iterdir()):
        parser.error(f"--keep must be an empty or a new directory, and {given.keep} holds files")
    if given.case and given.only == "demos":
        parser.error("--case names a planted error: it must not be given with --only demos")
    parts = [machine_line()]
    kept = nullcontext(given.keep) if given.keep is not None else tempfile.TemporaryDirectory(prefix="brokerlab-bench-")
    with kept as name:
        if given.only != "planted" and not given.case:
            parts.append(demos(Path(name) / "demos", given.rounds))
        if given.only != "demos":
            cases = [case for case in CASES if not given.case or case.name in given.case]
            parts.append(planted_errors(Path(name) / "planted", given.rounds, cases))
    return "\n".join(parts)


def demos(directory: Path, rounds: int) -> str:
    lines = [
        "### The demo beside a program of bursts (0.15 s of a core in every second, on two cores)",
        "",
        "| run | verdict | executions | set aside | seconds | load after |",
        "|---|---|---|---|---|---|",
    ]
    valid = 0
    with programs(BURSTS, 2):
        for number in range(1, rounds + 1):
            began = time.monotonic()
            runs = directory / str(number)
            command = [sys.executable, "-m", "brokerlab.cli.main", "demo", "--runs", str(runs), "--quiet"]
            code = subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
            took_s = time.monotonic() - began
            made = run_directories(runs)
            verdict = made[-1].verdict() if made else None
            valid += verdict is not None and verdict.verdict == "valid"
            lines.append(_demo_line(number, verdict, code, took_s))
            sys.stderr.write(lines[-1] + "\n")
    return "\n".join([*lines, "", f"{valid} of {rounds} valid.", ""])


def _demo_line(number: int, verdict: Verdict | None, code: int, took_s: float) -> str:
    end = f"{took_s:.0f} | {os.getloadavg()[0]:.2f} |"
    if verdict is None:
        return f"| {number} | **no verdict**: exit code {code} | - | - | {end}"
    finished = sum(c.repeats_finished for c in verdict.cells)
    aside = [f"{c.label}: {s.code}" for c in verdict.cells for s in c.set_aside]
    word = verdict.verdict if verdict.verdict == "valid" else f"**{verdict.verdict}**: {verdict.headline}"
    return f"| {number} | {word} | {finished} | {', '.join(aside) or '-'} | {end}"


def planted_errors(directory: Path, rounds: int, cases: Sequence[Case] = CASES) -> str:
    lines = [
        f"### Planted errors, {rounds} executions each",
        "",
        "| planted | executions that name it | by |",
        "|---|---|---|",
    ]
    for case in cases:
        found = _named(case, directory / case.name, rounds)
        lines.append(f"| {case.words} | {found} of {rounds} | {', '.join(case.named_by)} |")
        sys.stderr.write(lines[-1] + "\n")
    return "\n".join([*lines, ""])


def _named(case: Case, directory: Path, executions: int) -> int:
    """In how many executions of one run the error was named."""
    directory.mkdir(parents=True)
    workload = directory / "workload.yaml"
    workload.write_text(yaml.safe_dump(_workload(case, executions)))
    plan = lab.plan(workload)
    runs = directory / "runs"
    with planted(plan, runs, case.plant) if case.plant else nullcontext():
        answer = lab.run(plan, runs, fresh=True)
    if case.counts:
        return named_by_counts(case, answer.verdict, read_rows(answer.run, DELIVERY))
    deciding = [r for r in answer.verdict.reasons if r.code in case.named_by and r.weight != "note"]
    return len({r.repeat for r in deciding if abs(r.value or 0.0) >= case.least})


def named_by_counts(case: Case, verdict: Verdict, delivery: Sequence[Mapping[str, Any]]) -> int:
    """How many rows of `delivery` name the error; none where the verdict has another count, or misjudges it."""
    (name,) = case.named_by
    counts = [row[name] for row in delivery if row["drained"] or name != "lost"]
    if verdict.delivery.get(name) != sum(counts) or verdict.delivery_violated != case.violates:
        return 0
    return sum(count > 0 for count in counts)


def _workload(case: Case, executions: int) -> dict[str, object]:
    return {
        "name": "planted", "question": case.words, "brokers": [case.broker], "durability": "L4",
        "producers": {"rate": case.rate, "message": "100B"}, "consumers": {"groups": 1},
        "phases": {"warm_up": "2s", "measure": f"{MEASURE_S}s", "drain_limit": "60s"},
        "repeats": executions, "retries": 0,
        **({"broker_settings": {case.broker: case.settings}} if case.settings else {}),
    }  # fmt: skip
