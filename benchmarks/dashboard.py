"""`python -m benchmarks dashboard`: what a tab that watches costs a run, and how soon a long history is drawn.

The cost: the same short run on the memory broker without anyone who watches, with a program that takes the live stream and throws it away, and
with a tab open on the live page, in turns (ABCCBA). The program has the server do all it does for a tab, and nothing is drawn. The history: a run on
disk with 100,000 points, opened in a tab until everything is drawn; the first time the server reads it from disk.
"""

from __future__ import annotations

import argparse
import http.client
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.figures import spread
from benchmarks.long_history import write_long_run
from benchmarks.machine import cpu_ns, family, machine_line
from brokerlab.results.at_once import tables_at_once
from brokerlab.results.directory import RunDirectory, run_directories

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
POINTS = 100_000
ALONE, READER, TAB = "no tab", "the stream read, nothing drawn", "one tab"
ARMS = (ALONE, READER, TAB)
Closes = Callable[[], None]
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
    parser.add_argument("--rounds", type=int, default=4, help="runs of each kind (default 4)")
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


def _rounds(runs: Path, url: str, server: int, browser: Any, rounds: int, seconds: int) -> dict[str, list[Watched]]:
    made: dict[str, list[Watched]] = {arm: [] for arm in ARMS}
    watching: dict[str, Callable[[str], Closes]] = {
        ALONE: lambda _: lambda: None,
        READER: lambda run: _read_stream(f"{url}/api/runs/{run}/live"),
        TAB: lambda run: _open_tab(f"{url}/live/{run}", browser),
    }
    for number in range(rounds):
        for arm in ARMS if number % 2 == 0 else reversed(ARMS):
            made[arm].append(_measured(runs, server, watching[arm], seconds))
    return made


def _open_tab(url: str, browser: Any) -> Closes:
    page = browser.new_page()
    page.goto(url)
    return lambda: page.close()


def _read_stream(url: str) -> Closes:
    """Takes all that a tab would be sent, in a thread, until the returned function is called."""
    asked = urlsplit(url)
    connection = http.client.HTTPConnection(asked.netloc, timeout=60)
    connection.request("GET", asked.path)
    link = connection.sock
    answer = connection.getresponse()
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(f"{url} answered {answer.status}")

    def read() -> None:
        with suppress(OSError, http.client.HTTPException):  # it is cut off below
            while answer.read1(1 << 16):
                pass

    thread = threading.Thread(target=read, daemon=True)
    thread.start()

    def close() -> None:
        link.shutdown(socket.SHUT_RDWR)
        thread.join(30)
        connection.close()

    return close


def _measured(runs: Path, server: int, watch: Callable[[str], Closes], seconds: int) -> Watched:
    """A run in a process of its own, as people start it; it is watched as soon as it is there."""
    file = runs / "watched.yaml"
    file.write_text(WORKLOAD.format(seconds=seconds))
    before = {run.name for run in run_directories(runs)}
    began, used = time.monotonic(), sum(map(cpu_ns, family(server)))
    with subprocess.Popen([sys.executable, "-c", MEASURE, str(file), str(runs)]) as process:
        close: Closes | None = None
        while process.poll() is None:
            new = [run for run in run_directories(runs) if run.name not in before]
            if close is None and new:
                close = watch(new[0].name)
            time.sleep(0.2)
    used, took_s = sum(map(cpu_ns, family(server))) - used, time.monotonic() - began
    if close is not None:
        close()
    (run,) = [run for run in run_directories(runs) if run.name not in before]
    return _figures(run, seconds, used / 1e9 / took_s)


def _figures(run: RunDirectory, seconds: int, server_cores: float) -> Watched:
    tables = tables_at_once(run, run.plan().order[0])
    p99 = {row["measure"]: row["p99_ns"] / 1e6 for row in tables["latency_per_phase"]}
    sent = sum(row["sent"] for row in tables["rate_per_second"])
    cores = sum(row["cpu_cores_mean"] for row in tables["agent_health"])
    return Watched(cores, p99["send_delay"], p99["end_to_end_latency"], sent / seconds, server_cores)


def _table(made: dict[str, list[Watched]], rounds: int, seconds: int) -> list[str]:
    heads = ("agents, cores", "send delay p99, ms", "end-to-end p99, ms", "sent/s", "server, cores")
    lines = [f"### A run of {seconds} s, watched in three ways, {rounds} of each in turns, median [range]", "",
             f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]  # fmt: skip
    for arm in ARMS:
        columns = [spread([getattr(one, name) for one in made[arm]], 3) for name in Watched.__dataclass_fields__]
        lines.append(f"| {arm} | {' | '.join(columns)} |")
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
