"""The other side: Kafka's own kafka-producer-perf-test and kafka-consumer-perf-test, warm, steady part only."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Round
from benchmarks.machine import Mark, mark, usage
from brokerlab.brokers.kit.jolokia import AgentAndJars
from brokerlab.lifeline import die_with_parent

PRODUCER = "kafka-producer-perf-test"
CONSUMER = "kafka-consumer-perf-test"
_INTERVAL = re.compile(r"^(\d+) records sent, ([\d.]+) records/sec")


def _java(java: Path, jars: AgentAndJars, main: str, arguments: list[str], log_config: Path) -> subprocess.Popen[str]:
    class_path = ":".join(map(str, jars.class_path))
    command = [str(java), "-Xmx512m", f"-Dlog4j2.configurationFile={log_config}", "-cp", class_path, main, *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=die_with_parent
    )


def _finished(process: subprocess.Popen[str]) -> None:
    if process.wait() != 0:
        raise RuntimeError(f"{process.args!r} ended with {process.returncode}")


def produce(
    java: Path, jars: AgentAndJars, log_config: Path, endpoint: str, topic: str, payload: Path, records: int,
    settings: dict[str, str], broker_pid: int,
) -> Round:  # fmt: skip
    """Rate and CPU of the last half of the records, by the tool's own interval lines."""
    properties = [f"{name}={value}" for name, value in settings.items()]
    arguments = [
        "--bootstrap-server", endpoint, "--topic", topic, "--num-records", str(records),
        "--payload-file", str(payload), "--throughput", "-1", "--reporting-interval", "500",
        "--command-property", *properties,
    ]  # fmt: skip
    process = _java(java, jars, "org.apache.kafka.tools.ProducerPerformance", arguments, log_config)
    assert process.stdout is not None
    pids = [process.pid, broker_pid]
    sent = 0
    marks: list[tuple[int, Mark]] = []
    for line in process.stdout:
        found = _INTERVAL.match(line)
        if found and sent + int(found[1]) < records:
            sent += int(found[1])
            marks.append((sent, mark(pids)))
    _finished(process)
    steady = [m for m in marks if m[0] >= records / 2]
    (from_n, first), (to_n, last) = steady[0], steady[-1]
    return _round(PRODUCER, to_n - from_n, first, last, pids)


def _round(who: str, messages: int, first: Mark, last: Mark, pids: list[int]) -> Round:
    used = usage(first, last)
    tool, broker = (used.cpu_ns[p] / 1e3 / messages for p in pids)
    return Round(who, messages, messages / used.seconds, tool, broker, used.foreign_cores)


def consume(
    java: Path, jars: AgentAndJars, log_config: Path, endpoint: str, topic: str, records: int, group: str,
    settings: dict[str, str], broker_pid: int,
) -> Round:  # fmt: skip
    """Rate and CPU of the last half, by the tool's detailed statistics."""
    properties = [f"{name}={value}" for name, value in settings.items()]
    arguments = [
        "--bootstrap-server", endpoint, "--topic", topic, "--num-records", str(records), "--group", group,
        "--show-detailed-stats", "--reporting-interval", "250", "--command-property", *properties,
    ]  # fmt: skip
    process = _java(java, jars, "org.apache.kafka.tools.ConsumerPerformance", arguments, log_config)
    pids = [process.pid, broker_pid]
    marks = [(seen, mark(pids)) for seen in _consumed(process)]
    _finished(process)
    steady = [m for m in marks if records / 2 <= m[0] < records]
    (from_n, first), (to_n, last) = steady[0], steady[-1]
    return _round(CONSUMER, to_n - from_n, first, last, pids)


def _consumed(process: subprocess.Popen[str]) -> Iterator[int]:
    """Messages so far, from lines "time, thread, MB, MB/s, messages, messages/s, ..."."""
    assert process.stdout is not None
    for line in process.stdout:
        fields = [f.strip() for f in line.split(",")]
        if len(fields) >= 6 and fields[4].isdigit():
            yield int(fields[4])
