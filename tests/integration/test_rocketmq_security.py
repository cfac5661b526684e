"""RocketMQ with TLS and a password: who has both gets in; the password shows nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_load import agent_plan, cell_for, receive, wait_remaining
from contract_servers import Running, running_server
from planted import WRONG, files_with, planted, private, shown_by_processes, with_security

from brokerlab.brokers.rocketmq.broker import BROKER
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Security

PASSWORD = 'plänted "secret" # \\ ${x} <&>\' 7a2c'  # every character that needs care somewhere
REFERENCE = "env:BROKERLAB_TEST_ROCKETMQ_PASSWORD"
SECURITY = Security(tls=True, user="mary@lab", password=REFERENCE)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rocketmq")


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[Running]:
    cell = cell_for("rocketmq", 1, Durability.L4, security=SECURITY)
    with planted(REFERENCE, PASSWORD), running_server(BROKER, cell, directory) as running:
        yield running


def test_messages_pass_and_everything_is_read_back(running: Running) -> None:
    name = running.destination("g")
    assert running.admin.durability((name,)).level == Durability.L4
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(500)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    (got,) = receive([consumer], 500)
    assert all(m.intact for m in got)
    wait_remaining(consumer, 0)
    probe = BROKER.probe(running.endpoint, running.cluster.nodes())
    assert probe is not None
    assert {r.subject for r in probe.read()} == {"broker:rocketmq-nameserver", "broker:rocketmq-1"}


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
        lambda: BROKER.producer(agent_plan(running.cell, endpoint, ("d",)), 0),
        lambda: BROKER.consumer(agent_plan(running.cell, endpoint, ("d",), "g"), 0),
        lambda: BROKER.admin(endpoint, running.cell).create(("d",), 1, ()),
    ):
        with pytest.raises(BrokerError) as told:
            connect()
        assert said in str(told.value)
        assert "7a2c" not in str(told.value)


def test_the_password_is_in_no_log_command_line_or_environment_and_files_with_secrets_are_private(
    running: Running, directory: Path
) -> None:
    assert shown_by_processes("7a2c", of=[node.pid for node in running.cluster.nodes()]) == []
    assert files_with("7a2c", directory / "logs") == []
    named = ("node.conf", "server-key.pem")
    secret = [path for path in (directory / "data").rglob("*") if path.name in named]
    assert len(secret) == 3  # the name server has settings too
    assert private(secret)
    assert "7a2c" not in str(running.admin.effective_settings(()))
