"""The jars that ActiveMQ is started from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from brokerlab.brokers import activemq
from brokerlab.brokers.activemq.broker import BROKER
from brokerlab.install.maven import parse_lock, remade

LOCK = (Path(activemq.__file__).parent / "activemq.lock").read_text()
ARTIFACTS = parse_lock(LOCK, "activemq.lock")


def test_what_activemq_needs_and_does_not_name_as_a_dependency_is_there() -> None:
    """Without spring-context no broker.xml can be read; without activemq-jaas none that has users."""
    names = {a.name for a in ARTIFACTS}
    assert {"spring-context", "activemq-jaas", "log4j-slf4j2-impl"} <= names


def test_the_class_path_has_one_version_of_every_artifact_and_activemqs_are_of_one() -> None:
    counted = Counter((a.group, a.name, a.classifier) for a in ARTIFACTS)
    assert [name for name, count in counted.items() if count > 1] == []
    assert {a.version for a in ARTIFACTS if a.group == "org.apache.activemq"} == {BROKER.version}
    assert len({a.version for a in ARTIFACTS if a.group == "org.springframework"}) == 1


def test_the_lock_says_what_it_was_made_from() -> None:
    asked: list[list[str]] = []

    def lines(roots: list[str], alone: list[str]) -> list[str]:
        asked.extend([roots, alone])
        return [line for line in LOCK.splitlines() if not line.startswith("#")]

    assert remade(LOCK, lines) == LOCK
    roots, alone = asked
    assert set(roots + alone) <= {a.coordinate for a in ARTIFACTS}
    assert any("spring-context" in root for root in roots)
    assert [coordinate.split(":")[1] for coordinate in alone] == ["jolokia-agent-jvm"]
