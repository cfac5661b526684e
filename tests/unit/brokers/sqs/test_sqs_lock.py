"""The jars that ElasticMQ is started from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from brokerlab.brokers import sqs
from brokerlab.brokers.sqs.broker import BROKER
from brokerlab.install.maven import parse_lock, remade

LOCK = (Path(sqs.__file__).parent / "sqs.lock").read_text()
ARTIFACTS = parse_lock(LOCK, "sqs.lock")


def test_the_class_path_has_one_version_of_every_artifact_and_elasticmqs_are_of_one() -> None:
    counted = Counter((a.group, a.name, a.classifier) for a in ARTIFACTS)
    assert [name for name, count in counted.items() if count > 1] == []
    assert {f"ElasticMQ {a.version}" for a in ARTIFACTS if a.group == "org.elasticmq"} == {BROKER.version}


def test_the_lock_says_what_it_was_made_from() -> None:
    asked: list[list[str]] = []

    def lines(roots: list[str], alone: list[str]) -> list[str]:
        asked.extend([roots, alone])
        return [line for line in LOCK.splitlines() if not line.startswith("#")]

    assert remade(LOCK, lines) == LOCK
    assert set(asked[0] + asked[1]) <= {a.coordinate for a in ARTIFACTS}
