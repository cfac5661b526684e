"""`python -m benchmarks dashboard`: what a tab that watches costs a run, and how soon a long history is drawn.

The cost: the same short run on the memory broker with a tab open on its live page and without one, in turns (ABBA). The history: a
run on disk with 100,000 points, opened in a tab until everything is drawn; the first time the server reads it from disk.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import spread
from benchmarks.long_history import write_long_run
from benchmarks.machine import cpu_ns, family, machine_line
from brokerlab.results.at_once import tables_at_once
from brokerlab.results.directory import RunDirectory, run_directories

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
POINTS = 100_000
MEASURE = """
import sys
from pathlib import Path
from brokerlab import lab
lab.measure(lab.plan(sys.argv[1]), Path(sys.argv[2]), fresh=True)
"""
WORKLOAD = """
name: watched
question: What does a tab that watches cost a run?
broker: memory
destinations: {{count: 1, partitions: 2}}
producers: {{rate: 5_000/s, message: 200B}}
consumers: {{groups: 1}}
phases: {{warm_up: 2s, measure: {seconds}s, drain_limit: 30s}}
retries: 0
"""


@dataclass(frozen=True)
class Watched:
    """One run: what its agents used and how late messages were; and what the server used meanwhile."""

    agent_cores: float
    send_delay_p99_ms: float
    end_to_end_p99_ms: float
    sent_per_s: float
    server_cores: float


def main(arguments: list[str]) -> str:
    parser = argparse.ArgumentParser(prog="python -m benchmarks dashboard", description=__doc__)
    parser.add_argument("--rounds", type=int, default=4, help="runs each way (default 4)")
    parser.add_argument("--seconds", type=int, default=30, help="length of the measure phase (default 30)")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as name, _browser() as browser:
        runs = Path(name) / "runs"
        with _served(runs) as (url, server):
            history = _history(runs, url, browser)
            made = _rounds(runs, url, server, browser, given.rounds, given.seconds)
    return "\n".join([machine_line(), *history, "", *_table(made, given.rounds, given.seconds), ""])


def _history(runs: Path, url: str, browser: Any) -> list[str]:
    run = write_long_run(runs / "20270115T0800-long-ab12", POINTS)
    taken = [_drawn_after_s(f"{url}/live/{run.name}", browser) for _ in range(4)]
    shutil.rmtree(run.path)
    return [
        f"### A history of {POINTS:,} points, from opening the page until it is drawn, s",
        "",
        f"first time, read from disk: {taken[0]:.2f}; reloads: {spread(taken[1:], 2)}",
    ]


def _drawn_after_s(url: str, browser: Any) -> float:
    page = browser.new_page()
    began = time.monotonic()
    page.goto(url)
    while (
        int(page.evaluate("document.documentElement.dataset.points ?? 0")) < POINTS
    ):  # the policy forbids wait_for_function
        if time.monotonic() - began > 120:
            raise TimeoutError(f"{url} was not drawn")
        time.sleep(0.01)
    taken = time.monotonic() - began
    page.close()
    return taken


def _rounds(runs: Path, url: str, server: int, browser: Any, rounds: int, seconds: int) -> dict[bool, list[Watched]]:
    made: dict[bool, list[Watched]] = {False: [], True: []}
    for number in range(rounds):
        for watched in (False, True) if number % 2 == 0 else (True, False):
            made[watched].append(_measured(runs, url, server, browser if watched else None, seconds))
    return made


def _measured(runs: Path, url: str, server: int, browser: Any | None, seconds: int) -> Watched:
    """A run in a process of its own, as people start it; the tab opens as soon as there is a run."""
    file = runs / "watched.yaml"
    file.write_text(WORKLOAD.format(seconds=seconds))
    before = {run.name for run in run_directories(runs)}
    began, used = time.monotonic(), sum(map(cpu_ns, family(server)))
    with subprocess.Popen([sys.executable, "-c", MEASURE, str(file), str(runs)]) as process:
        page = None
        while process.poll() is None:
            new = [run for run in run_directories(runs) if run.name not in before]
            if browser is not None and page is None and new:
                page = browser.new_page()
                page.goto(f"{url}/live/{new[0].name}")
            time.sleep(0.2)
        if page is not None:
            page.close()
    used = sum(map(cpu_ns, family(server))) - used
    (run,) = [run for run in run_directories(runs) if run.name not in before]
    return _figures(run, seconds, used / 1e9 / (time.monotonic() - began))


def _figures(run: RunDirectory, seconds: int, server_cores: float) -> Watched:
    tables = tables_at_once(run, run.plan().order[0])
    p99 = {row["measure"]: row["p99_ns"] / 1e6 for row in tables["latency_per_phase"]}
    sent = sum(row["sent"] for row in tables["rate_per_second"])
    cores = sum(row["cpu_cores_mean"] for row in tables["agent_health"])
    return Watched(cores, p99["send_delay"], p99["end_to_end_latency"], sent / seconds, server_cores)


def _table(made: dict[bool, list[Watched]], rounds: int, seconds: int) -> list[str]:
    heads = ("agents, cores", "send delay p99, ms", "end-to-end p99, ms", "sent/s", "server, cores")
    lines = [f"### A run of {seconds} s with and without a tab on its live page, {rounds} each way in turns, median [range]", "",
             f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]  # fmt: skip
    for watched, word in ((False, "no tab"), (True, "one tab")):
        columns = [spread([getattr(one, name) for one in made[watched]], 3) for name in Watched.__dataclass_fields__]
        lines.append(f"| {word} | {' | '.join(columns)} |")
    return lines


@contextmanager
def _served(runs: Path) -> Iterator[tuple[str, int]]:
    """`brokerlab serve` over these runs: its address and process."""
    runs.mkdir(parents=True)
    command = [sys.executable, "-m", "brokerlab.cli.main", "serve", "--port", "0", "--runs", str(runs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = server.stdout.readline()
        try:
            yield said.removeprefix("dashboard: ").partition("/#")[0], server.pid
        finally:
            server.terminate()


@contextmanager
def _browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    found = next((path for path in map(shutil.which, CHROMIUM) if path), None)
    if found is None:
        sys.exit("this benchmark needs a Chromium on PATH: apt-get install -y chromium (as root)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=found, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()
