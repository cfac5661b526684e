"""Kafka's jars, from the lock file beside this module. `python -m brokerlab.brokers.kafka.install` makes it anew."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from brokerlab.install.cache import Progress
from brokerlab.install.maven import install_artifacts, lock_lines, missing, read_lock

VERSION = "4.3.1"
LOCK_FILE = Path(__file__).with_name("kafka.lock")
# All of a closure or nothing: with jars left out, followers died quietly and acks=all never came.
ROOTS = (
    f"org.apache.kafka:kafka_2.13:{VERSION}",
    f"org.apache.kafka:kafka-tools:{VERSION}",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",
)
AGENT = "org.jolokia:jolokia-agent-jvm:2.6.0:javaagent:jar"  # one jar with everything in it


@dataclass(frozen=True)
class KafkaJars:
    """What was installed: the servers' class path and the Jolokia agent."""

    class_path: tuple[Path, ...]
    agent: Path


def installed_jars() -> KafkaJars | None:
    """The jars, if all of them are in the cache."""
    artifacts = read_lock(LOCK_FILE)
    if missing(artifacts):
        return None
    agent = next(a for a in artifacts if a.coordinate == AGENT)
    return KafkaJars(tuple(a.path for a in artifacts if a is not agent), agent.path)


def install_jars(progress: Progress) -> KafkaJars:
    """Fetch what is missing. Raises InstallError."""
    install_artifacts(read_lock(LOCK_FILE), progress)
    jars = installed_jars()
    assert jars is not None
    return jars


def write_lock() -> None:
    """Resolve ROOTS and AGENT and write the lock file anew."""
    with tempfile.TemporaryDirectory() as scratch:
        lines = lock_lines(ROOTS, (AGENT,), Path(scratch))
    head = (
        f"# Kafka {VERSION} with its tools, a log4j binding, and the Jolokia JVM agent. How to make it anew: README.md"
    )
    LOCK_FILE.write_text("\n".join([head, *lines]) + "\n")


if __name__ == "__main__":
    write_lock()
