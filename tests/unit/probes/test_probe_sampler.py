from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from brokerlab.brokers.contract import Reading
from brokerlab.evidence.tables import READING
from brokerlab.model.environment import ClockPair
from brokerlab.probes.plan import ProbePlan
from brokerlab.probes.sampler import BrokerProbeThread, LocalProbes, next_due_ns, reading_columns, second_unix_s

CLOCK = ClockPair(mono_ns=10_000_000_000, unix_ns=1_700_000_000_250_000_000)


def _plan(directory: Path, **changes: Any) -> dict[str, Any]:
    own = os.getpid()
    return {
        "run": "r", "cell": "c01", "repeat": 2, "broker": "no-such-broker",
        "endpoint": {"addresses": ["127.0.0.1:1"]},
        "nodes": [{"name": "node-1", "pid": own, "urls": {}}], "agents": [{"name": "producer-1", "pid": own}],
        "directory": str(directory), "interval_s": 0.1,
        "clock": {"mono_ns": time.monotonic_ns(), "unix_ns": time.time_ns()}, **changes,
    }  # fmt: skip


def test_samples_are_due_in_the_middle_of_a_unix_second() -> None:
    due = next_due_ns(10_000_000_000, 1_000_000_000, CLOCK)
    assert due == 10_250_000_000
    assert next_due_ns(due, 1_000_000_000, CLOCK) == due + 1_000_000_000
    assert second_unix_s(due, CLOCK) == 1_700_000_000


def test_a_failing_probe_is_counted_and_the_others_answer(tmp_path: Path) -> None:
    plan = ProbePlan.model_validate(_plan(tmp_path / "missing"))
    probes = LocalProbes(plan, os.getppid())
    sample = probes.read(time.monotonic_ns())
    assert probes.failures == {"disk": 1}
    assert {r.subject for r in sample.readings} == {
        "host", "process:node-1", "process:producer-1", "process:probe",
    }  # fmt: skip


def test_columns_are_those_of_the_reading_table(tmp_path: Path) -> None:
    plan = ProbePlan.model_validate(_plan(tmp_path))
    sample = LocalProbes(plan, os.getppid()).read(time.monotonic_ns())
    columns = reading_columns(plan, [sample])
    assert tuple(columns) == tuple(n for n in READING.names() if n != "host")  # the writer adds it
    assert {len(c) for c in columns.values()} == {len(sample.readings)}
    assert len(sample.readings) > 5


class _Flaky:
    """A broker's probe that raises every second time."""

    def __init__(self) -> None:
        self.calls = 0

    def read(self) -> list[Reading]:
        self.calls += 1
        if self.calls % 2:
            raise RuntimeError("no answer")
        return [Reading("broker:node-1", "messages_total", self.calls, "1")]


def test_a_broker_probe_that_raises_is_asked_again() -> None:
    thread = BrokerProbeThread(_Flaky(), interval_s=0.001)
    thread.start()
    taken: list[float] = []
    deadline = time.monotonic() + 60
    while len(taken) < 2 and time.monotonic() < deadline:
        taken += [r.value for s in thread.take() for r in s.readings]
        time.sleep(0.005)
    thread.end()
    thread.join(60)
    assert taken[:2] == [2, 4]
    assert thread.failures["broker: RuntimeError: no answer"] >= 2


def _start(plan: dict[str, Any]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "brokerlab.probes"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(json.dumps(plan) + "\n")
    process.stdin.flush()
    return process


def _segments_beyond_the_first(directory: Path) -> bool:
    return (directory / "reading" / "probe-000002.parquet").exists()


@pytest.mark.parametrize("ending", ["closed input", "SIGTERM"])
def test_the_process_writes_segments_while_it_runs_and_ends_when_told(tmp_path: Path, ending: str) -> None:
    with _start(_plan(tmp_path)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"event": "ready"}
        deadline = time.monotonic() + 120
        while not _segments_beyond_the_first(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.02)
        if ending == "SIGTERM":
            process.send_signal(signal.SIGTERM)
            said = json.loads(process.stdout.readline())
            process.stdin.close()
        else:
            process.stdin.close()
            said = json.loads(process.stdout.readline())
        assert process.wait(120) == 0
    rows = pq.read_table(tmp_path / "reading").to_pylist()
    assert said["samples"] >= 2
    assert list(said["failures"]) == [f for f in said["failures"] if "no-such-broker" in f]
    assert {r["cell"] for r in rows} == {"c01"}
    assert {r["repeat"] for r in rows} == {2}
    metrics = {(r["subject"], r["metric"]) for r in rows}
    assert ("host", "cpu_foreign_cores") in metrics
    assert ("host", "disk_free_bytes") in metrics
    assert ("process:node-1", "rss_bytes") in metrics
    assert ("process:producer-1", "cpu_cores") in metrics
    assert ("process:probe", "cpu_cores") in metrics
    assert all(abs(r["second_unix_s"] - time.time()) < 3600 for r in rows)
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_node_that_is_named_again_is_watched_with_its_new_process(tmp_path: Path) -> None:
    """And a line that means nothing ends nothing."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    plan = _plan(tmp_path, nodes=[{"name": "node-1", "pid": gone.pid, "urls": {}}])
    with _start(plan) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"event": "ready"}
        process.stdin.write(f'hello\n{{"name": "node-1", "pid": {os.getpid()}}}\n')
        process.stdin.flush()
        deadline = time.monotonic() + 120
        while not (watched := _watched(tmp_path, "process:node-1")) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.stdin.close()
        said = json.loads(process.stdout.readline())
        assert process.wait(120) == 0
    assert "rss_bytes" in watched
    assert said["failures"]["a line that names no node"] == 1


def _watched(directory: Path, subject: str) -> set[str]:
    rows = pq.read_table(directory / "reading").to_pylist() if (directory / "reading").exists() else []
    return {r["metric"] for r in rows if r["subject"] == subject}


def test_a_plan_that_makes_no_sense_is_refused_in_one_line(tmp_path: Path) -> None:
    with _start(_plan(tmp_path, interval="often")) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 3
    assert out == ""
    assert "interval" in err
    assert "Traceback" not in err
