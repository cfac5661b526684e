"""What a node reads, and what its agent lets clients do, without a server."""

from __future__ import annotations

import hashlib
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_artemis_settings import cell

from brokerlab.brokers import artemis
from brokerlab.brokers.artemis.beans import CALLABLE, READABLE
from brokerlab.brokers.artemis.broker import BROKER
from brokerlab.brokers.artemis.configuration import Node, broker_xml, node_files, user_files
from brokerlab.brokers.kit.certificates import make_certificates
from brokerlab.brokers.kit.jolokia import policy
from brokerlab.install.maven import commented, parse_lock
from brokerlab.model.plan import CellPlan, Durability, Security

CORE = "{urn:activemq:core}"
ALONE = Node("artemis-1", 4711)
BACKUP = Node("artemis-2", 4713, "backup", 4711)


def core(node: Node, asked: CellPlan) -> ElementTree.Element:
    text = broker_xml(node, asked, "between-nodes", None)
    found = ElementTree.fromstring(text).find(f"{CORE}core")
    assert found is not None
    return found


def test_a_node_alone_has_the_journal_asked_for_and_one_acceptor_for_stomp() -> None:
    found = core(ALONE, cell(Durability.L3, broker_settings={"journal-type": "MAPPED"}))
    assert found.findtext(f"{CORE}journal-type") == "MAPPED"
    assert found.find(f"{CORE}journal-datasync") is None, "it is an option of Java's, which can be read back"
    (acceptor,) = found.iter(f"{CORE}acceptor")
    assert acceptor.text == "tcp://127.0.0.1:4711?protocols=STOMP"
    assert found.find(f"{CORE}ha-policy") is None
    assert found.findtext(f"{CORE}security-enabled") == "false"


def test_nothing_is_made_by_writing_to_it_and_nothing_is_given_up() -> None:
    (settings,) = core(ALONE, cell()).iter(f"{CORE}address-setting")
    assert settings.get("match") == "#"
    wanted = {"auto-create-addresses": "false", "auto-create-queues": "false", "max-delivery-attempts": "-1"}
    assert {name: settings.findtext(f"{CORE}{name}") for name in wanted} == wanted


def test_a_backup_knows_the_other_node_of_its_pair_and_no_node_besides() -> None:
    found = core(BACKUP, cell(Durability.L2, nodes=2))
    assert found.find(f"{CORE}ha-policy/{CORE}replication/{CORE}backup") is not None
    urls = {c.get("name"): c.text or "" for c in found.iter(f"{CORE}connector")}
    assert {name: url.partition("?")[0] for name, url in urls.items()} == {
        "self": "tcp://127.0.0.1:4713",
        "other": "tcp://127.0.0.1:4711",
    }
    assert found.findtext(f"{CORE}cluster-password") == "between-nodes"


def test_with_tls_nodes_of_a_pair_demand_and_use_it_too(tmp_path: Path) -> None:
    made = make_certificates(tmp_path / "a b")
    text = broker_xml(BACKUP, cell(Durability.L2, nodes=2, security=Security(tls=True)), "p", made)
    root = ElementTree.fromstring(text)
    (acceptor,) = root.iter(f"{CORE}acceptor")
    assert "sslEnabled=true" in (acceptor.text or "")
    assert "a%20b/server.p12" in (acceptor.text or "")
    assert all("sslEnabled=true" in (c.text or "") for c in root.iter(f"{CORE}connector"))


def test_a_user_stands_in_the_files_with_a_hash_and_the_password_in_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTEMIS_TEST_PASSWORD", "ENC(plänted)")
    security = Security(user="mary: #1", password="env:ARTEMIS_TEST_PASSWORD")
    files = node_files(Path("/d/etc"), ALONE, cell(security=security), "p", None)
    assert "plänted" not in "".join(files.values())
    (line,) = user_files(security)["users.properties"].splitlines()
    name, _, value = line.partition("=")
    assert name.encode().decode("unicode_escape") == "mary: #1"
    iterations, salt, hashed = value.removeprefix("ENC(").removesuffix(")").split(":")
    again = hashlib.pbkdf2_hmac("sha1", "ENC(plänted)".encode(), bytes.fromhex(salt), int(iterations), 64)
    assert again.hex() == hashed
    assert "<security-enabled>true" in files["broker.xml"]


def test_the_agent_lets_clients_make_and_delete_queues_and_nothing_else() -> None:
    root = ElementTree.fromstring(policy(READABLE, CALLABLE).encode())
    commands = root.find("commands")
    assert commands is not None
    assert list(commands) == []
    assert {(o.text or "").partition("(")[0] for o in root.iter("operation")} == {"createQueue", "deleteAddress"}
    assert {a.get("mode") for a in root.iter("attribute")} == {"read"}
    names = [n.text for n in root.iter("name")]
    assert len(names) == len(set(names)), "each bean once: a second entry would not be looked at"


def test_the_lock_has_the_archive_of_the_version_that_is_named_and_the_agent() -> None:
    text = (Path(artemis.__file__).parent / "artemis.lock").read_text()
    artifacts = parse_lock(text, "artemis.lock")
    assert {(a.name, a.extension) for a in artifacts} == {("apache-artemis", "tar.gz"), ("jolokia-agent-jvm", "jar")}
    assert {a.coordinate for a in artifacts} == set(commented(text, "alone"))
    assert BROKER.version in {a.version for a in artifacts}
