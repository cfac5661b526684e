"""The other side: Pulsar's own pulsar-perf, warm, steady part only.

It prints a line every ten seconds, with the start of its JVM in the first: so its messages are counted by the broker
(`msgInCounter`, `msgOutCounter` of the topic), which knows at any time.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import Round
from benchmarks.machine import Mark, mark, usage
from brokerlab.brokers.kit.java import java_command
from brokerlab.brokers.kit.recipes import JavaServer
from brokerlab.install.maven import install_artifacts, read_lock
from brokerlab.lifeline import die_with_parent

WHO = {"produce": "pulsar-perf produce", "consume": "pulsar-perf consume"}
LOCK = Path(__file__).with_name("pulsar-perf.lock")
MAIN = "org.apache.pulsar.testclient.PulsarPerfTestTool"
LOG4J = "status=error\nrootLogger.level=off\n"
LOOK_S = 0.1
PATIENCE_S = 60.0

Count = Callable[[], int]  # messages so far, as the broker says


class PulsarPerf:
    """Runs the tool beside a broker whose jars it shares."""

    def __init__(self, programs: JavaServer, directory: Path, service_url: str) -> None:
        artifacts = read_lock(LOCK)
        install_artifacts(artifacts, lambda _what, _share: None)
        self._programs, self._home, self._service_url = programs, directory / "pulsar-perf", service_url
        self._jars = (*(a.path for a in artifacts), *programs.jars)
        (self._home / "tmp").mkdir(parents=True)
        (self._home / "log4j2.properties").write_text(LOG4J)
        (self._home / "client.conf").write_text(f"brokerServiceUrl={service_url}\n")

    def round(
        self, role: str, arguments: list[str], count: Count, take: Callable[[float, int], bool], broker_pid: int
    ) -> Round:
        """Figures of the time in which `take` (seconds since the first message, messages so far) holds."""
        main = [MAIN, str(self._home / "client.conf"), role, "-u", self._service_url, *arguments]
        options = ["-Xmx1g", "-Dio.netty.tryReflectionSetAccessible=true"]
        process = subprocess.Popen(
            java_command(self._programs.java.path, self._jars, self._home, options, main),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        try:
            return self._steady(role, process, count, take, broker_pid)
        finally:
            process.terminate()
            process.wait()

    def _steady(
        self, role: str, process: subprocess.Popen[bytes], count: Count, take: Callable[[float, int], bool],
        broker_pid: int,
    ) -> Round:  # fmt: skip
        pids = [process.pid, broker_pid]
        deadline = time.monotonic() + PATIENCE_S
        begun: float | None = None
        marks: list[tuple[int, Mark]] = []
        while time.monotonic() < deadline and process.poll() is None:
            seen = count()
            if seen and begun is None:
                begun = time.monotonic()
            if begun is not None and take(time.monotonic() - begun, seen):
                marks.append((seen, mark(pids)))
            elif marks:
                break
            time.sleep(LOOK_S)
        if len(marks) < 2:
            raise RuntimeError(f"{WHO[role]} was never steady (exit code {process.returncode})")
        (from_n, first), (to_n, last) = marks[0], marks[-1]
        used, messages = usage(first, last), to_n - from_n
        tool, broker = (used.cpu_ns[p] / 1e3 / messages for p in pids)
        return Round(WHO[role], messages, messages / used.seconds, tool, broker, used.foreign_cores)
