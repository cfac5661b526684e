from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from brokerlab.probes import process
from brokerlab.probes.process import ForeignCpu, ProcessProbe, cpu_time_ns, descendants

WAITS = "import sys; print('up', flush=True); sys.stdin.read()"
STARTS_A_CHILD = (
    "import subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'], stdin=subprocess.PIPE)\n"
    "print(child.pid, flush=True)\n"
    "sys.stdin.read()\n"
    "child.stdin.close()\n"
    "child.wait()\n"
)


def _start(code: str) -> tuple[subprocess.Popen[bytes], bytes]:
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    return process, process.stdout.readline()


def test_cpu_time_of_ourselves_agrees_with_our_own_clock() -> None:
    before = time.process_time_ns()
    seen = cpu_time_ns(os.getpid())
    assert before <= seen <= time.process_time_ns()


def test_a_process_shows_memory_threads_files_and_the_cpu_between_two_readings() -> None:
    process, _ = _start(WAITS)
    with process:
        probe = ProcessProbe("kafka-1", process.pid)
        first = {r.metric: r for r in probe.read(1_000_000_000)}
        assert "cpu_cores" not in first
        second = {r.metric: r for r in probe.read(2_000_000_000)}
        assert process.stdin is not None
        process.stdin.close()
    assert set(second) == {
        "rss_bytes", "threads", "open_files", "read_bytes_total", "write_bytes_total", "cpu_cores",
    }  # fmt: skip
    assert {r.subject for r in second.values()} == {"process:kafka-1"}
    assert second["rss_bytes"].value > 1_000_000
    assert second["threads"].value == 1
    assert second["open_files"].value >= 3
    assert 0 <= second["cpu_cores"].value <= 1


def test_cpu_cores_is_cpu_time_over_the_time_between_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_children", lambda _pid: [])  # of other tests
    probe = ProcessProbe("own", os.getpid())
    started = time.process_time_ns()
    probe.read(0)
    while time.process_time_ns() < started + 50_000_000:
        pass
    [cores] = [r.value for r in probe.read(100_000_000) if r.metric == "cpu_cores"]
    used = time.process_time_ns() - started
    assert 0.4 < cores <= used / 100_000_000


def test_a_process_that_has_ended_gives_nothing() -> None:
    process, _ = _start(WAITS)
    with process:
        probe = ProcessProbe("agent", process.pid)
        assert probe.read(1)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
        assert probe.read(2) == []


def test_a_process_that_was_started_again_is_followed_and_what_it_wrote_before_counts() -> None:
    first, _ = _start(WAITS)
    probe = ProcessProbe("kafka-1", first.pid)
    foreign = ForeignCpu([first.pid])
    foreign.read(1, 1.0)
    with first:
        before = {r.metric: r.value for r in probe.read(1)}
        assert first.stdin is not None
        first.stdin.close()
    second, _ = _start(WAITS)
    with second:
        assert probe.read(2) == []
        probe.follow(second.pid)
        foreign.add(second.pid)
        after = {r.metric: r.value for r in probe.read(1_000_000_000)}
        assert "cpu_cores" not in after, "nothing to compare with yet"
        assert "cpu_cores" in {r.metric for r in probe.read(2_000_000_000)}
        (reading,) = foreign.read(1_000_000_001, 1.0)
        assert second.stdin is not None
        second.stdin.close()
    assert after["read_bytes_total"] >= before["read_bytes_total"], "a total never falls"
    assert after["rss_bytes"] > 1_000_000
    assert reading.value < 1.0, "what it has used since it was started is not foreign"


def test_a_pid_used_again_by_another_process_gives_nothing() -> None:
    probe = ProcessProbe("agent", os.getpid())
    assert probe.read(1)
    probe._started = "1"  # as if the first reading had been of an older process with this pid
    assert probe.read(2) == []


def test_descendants_holds_children_of_children_and_not_the_parent() -> None:
    process, line = _start(STARTS_A_CHILD)
    with process:
        found = descendants([process.pid])
        assert process.stdin is not None
        process.stdin.close()
    assert {process.pid, int(line)} <= found
    assert os.getpid() not in found


def test_foreign_cpu_is_busy_minus_known_and_keeps_its_sign() -> None:
    foreign = ForeignCpu([os.getpid()])
    assert foreign.read(1_000_000_000, 1.0) == []
    [reading] = foreign.read(1_001_000_000_000, 1.5)
    assert (reading.subject, reading.metric) == ("host", "cpu_foreign_cores")
    assert reading.value == pytest.approx(1.5, abs=0.1)  # a thousand seconds: what we used ourselves is nothing
    [negative] = foreign.read(2_001_000_000_000, -1.0)
    assert negative.value < 0


def test_what_a_process_started_counts_with_it_also_after_it_ended() -> None:
    code = (
        "import subprocess, sys\n"
        "busy = 'import sys, time\\nwhile time.process_time() < 0.3: pass\\nprint(1, flush=True)\\nsys.stdin.read()'\n"
        "child = subprocess.Popen([sys.executable, '-c', busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        "print('up', flush=True)\n"
        "sys.stdin.readline()\n"
        "child.stdin.close()\n"
        "child.wait()\n"
        "print('alone', flush=True)\n"
        "sys.stdin.read()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        probe = ProcessProbe("postgresql-1", process.pid)
        probe.read(0)
        process.stdout.readline()
        with_child = {r.metric: r.value for r in probe.read(1_000_000_000)}
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        alone = {r.metric: r.value for r in probe.read(2_000_000_000)}
        process.stdin.close()
    assert with_child["cpu_cores"] >= 0.3
    assert with_child["threads"] == 2
    assert alone["threads"] == 1
    assert alone["cpu_cores"] >= 0
    assert alone["write_bytes_total"] >= with_child["write_bytes_total"], "a total never falls"
