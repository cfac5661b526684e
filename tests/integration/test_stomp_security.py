"""ActiveMQ and Artemis with TLS and a password: who has both gets in, to its beans as well; the password shows nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from contract_load import agent_plan, cell_for, receive, wait_remaining
from contract_servers import Running, running_server
from planted import WRONG, files_with, planted, private, shown_by_processes, with_security

from brokerlab.brokers.registry import broker_named
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Security

PASSWORD = 'plänted "secret" # \\ ${x} #{1} <&>\' 7a2c'  # every character that needs care somewhere
REFERENCE = "env:BROKERLAB_TEST_STOMP_PASSWORD"
SECURITY = Security(tls=True, user="mary@lab", password=REFERENCE)
SECRET = ("broker.xml", "jolokia.properties", "server-key.pem", "server.p12")


@dataclass(frozen=True)
class Product:
    """A broker, its files that only their owner may read, and those of them that have the password in them."""

    name: str
    private: tuple[str, ...]
    with_password: tuple[str, ...]


PRODUCTS = (
    Product("activemq", SECRET, SECRET),
    Product("artemis", (*SECRET, "users.properties"), ("jolokia.properties",)),
)


@pytest.fixture(scope="module", params=PRODUCTS, ids=lambda product: product.name)
def product(request: pytest.FixtureRequest) -> Product:
    found: Product = request.param
    return found


@pytest.fixture(scope="module")
def directory(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp(product.name)


@pytest.fixture(scope="module")
def server(product: Product, directory: Path) -> Iterator[Running]:
    cell = cell_for(product.name, 1, Durability.L3, security=SECURITY)
    with planted(REFERENCE, PASSWORD), running_server(broker_named(product.name), cell, directory) as running:
        yield running


def test_messages_pass_and_everything_is_read_back(running: Running, product: Product) -> None:
    name = running.destination("g")
    assert running.admin.durability((name,)).level == Durability.L3
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(500)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    (got,) = receive([consumer], 500)
    assert all(m.intact for m in got)
    wait_remaining(consumer, 0)
    probe = running.broker.probe(running.endpoint, running.cluster.nodes())
    assert probe is not None
    assert {r.subject for r in probe.read()} == {f"jvm:{product.name}-1", f"broker:{product.name}-1"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"password": WRONG}, "check user and password"),
        ({"user": "somebody"}, "check user and password"),
        ({"user": None, "password": None}, "check user and password"),
        ({"tls": False}, "does it want TLS"),
        ({"ca_file": None}, "certificate verify failed"),
    ],
)
def test_whoever_lacks_something_is_refused_in_plain_words(
    running: Running, change: dict[str, object], said: str
) -> None:
    endpoint = with_security(running.endpoint, **change)
    for connect in (
        lambda: running.broker.producer(agent_plan(running.cell, endpoint, ("d",)), 0),
        lambda: running.broker.consumer(agent_plan(running.cell, endpoint, ("d",), "g"), 0),
        lambda: running.broker.admin(endpoint, running.cell).durability(("d",)),
    ):
        with pytest.raises(BrokerError) as told:
            connect()
        assert said in str(told.value)
        assert "7a2c" not in str(told.value)
    running.admin.delete(("d",), ())  # who lacks TLS for STOMP only may have made it by HTTPS


@pytest.mark.parametrize("change", [{"password": WRONG}, {"user": None, "password": None}, {"ca_file": None}])
def test_the_beans_are_closed_to_them_too(running: Running, change: dict[str, object]) -> None:
    endpoint = with_security(running.endpoint, **change)
    with pytest.raises(BrokerError):
        running.broker.admin(endpoint, running.cell).delete(("d",), ())
    probe = running.broker.probe(endpoint, running.cluster.nodes())
    assert probe is not None
    assert probe.read() == []


def test_the_password_is_in_no_log_command_line_or_environment_and_files_with_secrets_are_private(
    running: Running, product: Product, directory: Path
) -> None:
    assert shown_by_processes("7a2c", of=[node.pid for node in running.cluster.nodes()]) == []
    assert files_with("7a2c", directory / "logs") == []
    secret = [path for path in (directory / "data").rglob("*") if path.name in product.private]
    assert len(secret) == len(product.private)
    assert private(secret)
    assert {path.name for path in files_with("7a2c", directory / "data")} <= set(product.with_password)
    assert "7a2c" not in str(running.admin.effective_settings(()))
