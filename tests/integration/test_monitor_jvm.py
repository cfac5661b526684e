"""`brokerlab monitor jvm=PID` of a real JVM: an agent is attached where the user says so, can only read, and is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from monitored import WITHIN_S, monitoring, series, until

from brokerlab.brokers.kit.jolokia import Jolokia
from brokerlab.install.java import find_java

WAITS = """
public class Waits {
    public static void main(String[] given) throws Exception {
        System.out.println("ready");
        while (System.in.read() >= 0) { }
    }
}
"""
HEAP = {"type": "read", "mbean": "java.lang:type=Memory", "attribute": ["HeapMemoryUsage"]}


@pytest.fixture(scope="module")
def java() -> str:
    found = find_java()
    if found is None:
        pytest.skip("there is no Java here")
    modules = subprocess.run([str(found.path), "--list-modules"], capture_output=True, text=True, check=True).stdout
    for module, what_for in (("jdk.attach", "attach to a JVM"), ("jdk.compiler", "run a program from its source")):
        if f"{module}@" not in modules:
            pytest.skip(f"the Java here has no {module}, so it cannot {what_for}")
    return str(found.path)


@pytest.fixture
def jvm(java: str, tmp_path: Path) -> Iterator[int]:
    """The process of a small Java program that waits until its input ends."""
    source = tmp_path / "Waits.java"
    source.write_text(WAITS)
    command = [java, "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", str(source)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.communicate(timeout=WITHIN_S)


def listening(pid: int) -> list[tuple[str, int]]:
    found = psutil.Process(pid).net_connections("tcp")
    return [(c.laddr.ip.removeprefix("::ffff:"), c.laddr.port) for c in found if c.status == psutil.CONN_LISTEN]


def was_attached_to(pid: int) -> bool:
    """Whether a program has ever asked this JVM to take an agent: it makes a socket for that, and keeps it."""
    return Path(f"/proc/{pid}/root/tmp/.java_pid{pid}").exists()


@pytest.mark.timeout(600)
def test_with_attach_beans_are_read_by_an_agent_that_does_nothing_else_and_is_stopped(jvm: int, tmp_path: Path) -> None:
    with monitoring(tmp_path, f"jvm={jvm}", "--attach") as (process, log):
        ((host, port),) = until("the agent's port", lambda: listening(jvm))
        assert host == "127.0.0.1"
        agent = Jolokia(f"http://127.0.0.1:{port}/jolokia/", None, WITHIN_S)
        until("readings", lambda: any((tmp_path / "runs").rglob("*.parquet")))
        read, other, called = agent.ask(
            [
                HEAP,
                {"type": "read", "mbean": "java.lang:type=Runtime", "attribute": ["SystemProperties"]},
                {"type": "exec", "mbean": "java.lang:type=Memory", "operation": "gc"},
            ]
        )
        assert (read["status"], other["status"], called["status"]) == (200, 403, 403)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=WITHIN_S)
        assert process.returncode == 0, log.read_text()
    until("the end of the agent", lambda: not listening(jvm))
    assert psutil.pid_exists(jvm), "the JVM goes on without it"
    assert was_attached_to(jvm)
    rows = series(tmp_path)
    beans = {metric: row for (subject, metric), row in rows.items() if subject.startswith("jvm:")}
    assert beans["heap_used_bytes"].most > 0
    assert beans["threads"].least >= 1
    assert beans["cpu_seconds_total"].most > 0
    assert "gc_count_total" in beans
    assert any(subject.startswith("process:") for subject, _ in rows)


@pytest.mark.timeout(600)
def test_without_attach_only_the_process_is_watched_and_the_jvm_is_not_touched(jvm: int, tmp_path: Path) -> None:
    with monitoring(tmp_path, f"jvm={jvm}", "--for", "3s") as (process, log):
        process.communicate(timeout=WITHIN_S)
        assert process.returncode == 0, log.read_text()
    assert "--attach" in log.read_text(), "it is said how to see more"
    assert not was_attached_to(jvm)
    assert listening(jvm) == []
    assert {subject.partition(":")[0] for subject, _ in series(tmp_path)} == {"process"}


@pytest.mark.timeout(600)
def test_attaching_to_what_is_no_jvm_is_refused_and_leaves_no_run(java: str, tmp_path: Path) -> None:  # noqa: ARG001 - the reason must not be that there is no Java
    with monitoring(tmp_path, f"jvm={os.getpid()}", "--attach", "--for", "3s") as (process, log):
        process.communicate(timeout=WITHIN_S)
    assert process.returncode == 2, log.read_text()
    assert "is not a JVM" in log.read_text()
    assert not any((tmp_path / "runs").glob("*/plan.json"))
