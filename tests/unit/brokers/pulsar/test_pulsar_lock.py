from __future__ import annotations

from collections import Counter

from brokerlab.brokers.pulsar.broker import BROKER
from brokerlab.install.maven import commented, read_lock
from brokerlab.install.maven_closure import pom

LOCK_FILE = BROKER.recipe.lock_file
ARTIFACTS = read_lock(LOCK_FILE)


def test_the_class_path_has_one_version_of_every_artifact() -> None:
    counted = Counter((a.group, a.name, a.classifier) for a in ARTIFACTS)
    assert len(counted) > 300
    assert [name for name, count in counted.items() if count > 1] == []


def test_pulsars_own_jars_are_all_of_one_version_and_bookkeepers_too() -> None:
    pulsars = {a.name: a.version for a in ARTIFACTS if a.group == "org.apache.pulsar"}
    assert {"pulsar-broker", "pulsar-metadata", "managed-ledger"} <= set(pulsars)
    assert set(pulsars.values()) == {BROKER.version}
    bookkeepers = {a.name: a.version for a in ARTIFACTS if a.group.startswith("org.apache.bookkeeper")}
    assert {"bookkeeper-server", "vertx-http-server", "bookkeeper-stats-api"} <= set(bookkeepers)
    assert len(set(bookkeepers.values())) == 1
    nettys = {a.version for a in ARTIFACTS if a.group == "io.netty" and "tcnative" not in a.name and "4.1" in a.version}
    assert len(nettys) == 1


def test_the_lock_holds_its_roots_and_can_be_made_anew_from_them() -> None:
    names = {f"{a.group}:{a.name}" for a in ARTIFACTS}
    lock = LOCK_FILE.read_text()
    assert commented(lock, "root")
    for root in commented(lock, "root"):
        group, name = root.split(":")[:2]
        assert f"{group}:{name}" in names
        assert f"<groupId>{group}</groupId><artifactId>{name}</artifactId>" in pom(lock)
