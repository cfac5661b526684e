"""Kafka's jars. `python -m brokerlab.brokers.kafka.install` makes the lock file anew that names them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from brokerlab.brokers.kafka.broker import BROKER
from brokerlab.brokers.kit.jolokia import agent_and_jars
from brokerlab.install.maven import lock_lines

VERSION = BROKER.version
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


def kafka_jars(installed: Sequence[Path]) -> KafkaJars:
    """Told apart: the agent is no part of the class path."""
    agent, class_path = agent_and_jars(installed)
    return KafkaJars(class_path, agent)


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
