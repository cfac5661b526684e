"""What of Kafka's jars is what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from brokerlab.brokers.kit.jolokia import agent_and_jars


@dataclass(frozen=True)
class KafkaJars:
    """What was installed: the servers' class path and the Jolokia agent."""

    class_path: tuple[Path, ...]
    agent: Path


def kafka_jars(installed: Sequence[Path]) -> KafkaJars:
    """Told apart: the agent is no part of the class path."""
    agent, class_path = agent_and_jars(installed)
    return KafkaJars(class_path, agent)
