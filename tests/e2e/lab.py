"""What the end-to-end tests share: a command line with a home of its own, runs on disk, processes, waiting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from brokerlab.home import cache_directory
from brokerlab.model.state import ExecutionState
from brokerlab.results.directory import RunDirectory, run_directories

BROKERLAB = [sys.executable, "-m", "brokerlab.cli.main"]
DEADLINE_S = 200.0
RUN_ONLY = """
import sys
from brokerlab import lab
from brokerlab.cli.planning import given_endpoints
file, *endpoints = sys.argv[1:]
lab.measure(lab.plan(file, endpoints=given_endpoints(tuple(endpoints))))
"""
PRIVATE = ("host.lock", "up")  # what homes must not share: the lock of a host, brokers in the background


def private_home(path: Path) -> Path:
    """A BROKERLAB_HOME with a host lock of its own; what was installed before is shared, so nothing is fetched twice."""
    path.mkdir()
    shared = cache_directory()
    for entry in sorted(shared.iterdir()) if shared.is_dir() else []:
        if entry.name not in PRIVATE:
            (path / entry.name).symlink_to(entry)
    return path


def workload(directory: Path, **fields: Any) -> Path:
    """A small workload file; fields given replace those here."""
    whole: dict[str, Any] = {
        "name": "survive",
        "question": "Is what is reported what happened?",
        "broker": "memory",
        "destinations": {"count": 1, "partitions": 2},
        "producers": {"rate": "1_000/s", "message": "200B"},
        "consumers": {"groups": 1},
        "phases": {"warm_up": "1s", "measure": "3s", "drain_limit": "60s"},
        "retries": 0,  # a busy machine must not decide how many executions a test has
    } | fields
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "workload.yaml"
    path.write_text(yaml.safe_dump(whole, sort_keys=False))
    return path


def wait_until(what: str, condition: Callable[[], Any], within_s: float = DEADLINE_S) -> Any:
    """The condition's first true value; fails at the deadline."""
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {within_s:.0f} s in vain: {what}"
        time.sleep(0.05)
    return value


class Lab:
    """The command line, with one home and one directory of runs."""

    def __init__(self, home: Path, runs: Path) -> None:
        self.runs = runs
        self.env = {**os.environ, "BROKERLAB_HOME": str(home), "BROKERLAB_RUNS": str(runs), "NO_COLOR": "1"}

    def call(self, *args: str | Path, within_s: float = 280) -> subprocess.CompletedProcess[str]:
        command = [*BROKERLAB, *map(str, args)]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=within_s, check=False)

    def run_only(self, file: Path, *endpoints: str, **env: str) -> RunDirectory:
        """What `brokerlab run` does before it analyzes: for tests that read the evidence themselves."""
        command = [sys.executable, "-c", RUN_ONLY, str(file), *endpoints]
        said = subprocess.run(command, env=self.env | env, capture_output=True, text=True, timeout=280, check=False)
        assert said.returncode == 0, said.stderr
        return self.run()

    def json(self, *args: str | Path) -> Any:
        """What a command prints with --json, whatever its exit code."""
        said = self.call(*args, "--json")
        assert said.stdout, said.stderr
        return json.loads(said.stdout)

    @contextmanager
    def started(self, *args: str | Path) -> Iterator[subprocess.Popen[str]]:
        """The command in the background; killed at the end if it still runs."""
        process = subprocess.Popen(
            [*BROKERLAB, *map(str, args)], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def run(self) -> RunDirectory:
        """The one run there is."""
        (run,) = run_directories(self.runs)
        return run

    def state(self, execution: str) -> ExecutionState:
        """What state.json says about an execution; "waiting" while there is no run."""
        found = run_directories(self.runs)
        return found[0].state().executions.get(execution, ExecutionState()) if found else ExecutionState()


def rows(directory: Path, table: str) -> list[dict[str, Any]]:
    """Rows of the whole segments of a table, as anybody could read them while a run is in progress."""
    files = sorted((directory / table).glob("[!.]*.parquet"))
    return pa.concat_tables(pq.read_table(f) for f in files).to_pylist() if files else []


def is_measuring(lab: Lab, execution: str, agents: tuple[str, ...] = ("producer-1", "consumer-g1-1")) -> bool:
    """There is evidence of the measure phase from every agent, and from the probe."""
    found = run_directories(lab.runs)
    if not found or lab.state(execution).state != "running":
        return False
    path = found[0].path
    measured = {r["agent"] for r in rows(path / "evidence" / execution, "activity") if r["phase"] == "measure"}
    return set(agents) <= measured and any((path / "probes" / execution).glob("reading/*.parquet"))


def wait_measuring(
    lab: Lab, execution: str, runner: subprocess.Popen[str], own_broker: bool = True
) -> list[psutil.Process]:
    """Wait for the middle of the measure phase. Returns every process the runner has started, children's included."""
    born_unix_s = psutil.Process(runner.pid).create_time()

    def measuring() -> bool:
        if runner.poll() is not None:
            raise AssertionError(f"the run ended with {runner.returncode}: {runner.communicate()}")
        # What an earlier runner left is not this one's work.
        return (lab.state(execution).started_unix_s or 0) > born_unix_s and is_measuring(lab, execution)

    wait_until(f"{execution} to measure", measuring)
    processes = psutil.Process(runner.pid).children(recursive=True)
    # a producer and a consumer with a process each that writes evidence, a probe, a broker
    assert len(processes) >= 5 + own_broker, processes
    return processes


def pids(run: RunDirectory, execution: str) -> dict[str, int]:
    """Process ids by name of agent or node, from the run's own journal."""
    events = rows(run.path / "events" / execution, "event")
    return {e["source"]: json.loads(e["detail"])["pid"] for e in events if e["kind"].endswith("_started")}


def is_gone(process: psutil.Process) -> bool:
    """Ended; one that has not been reaped yet counts, since process 1 may not do it here."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def assert_gone(processes: list[psutil.Process], within_s: float) -> None:
    wait_until("every process to be gone", lambda: all(map(is_gone, processes)), within_s)


def last_seconds(directory: Path) -> dict[str, int]:
    """The last second each agent reported, by agent."""
    last: dict[str, int] = {}
    for row in rows(directory, "activity"):
        last[row["agent"]] = max(last.get(row["agent"], 0), row["second_unix_s"])
    return last


def fingerprint(directory: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of every file below."""
    files = sorted(p for p in directory.rglob("*") if p.is_file())
    assert files, f"nothing in {directory}"
    return {str(p.relative_to(directory)): (p.stat().st_size, p.stat().st_mtime_ns) for p in files}


def covered(ranges: list[dict[str, Any]]) -> int:
    """Messages in ranges first..last."""
    return sum(r["last"] - r["first"] + 1 for r in ranges)
