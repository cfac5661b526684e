"""RabbitMQ with TLS and a password: who has both gets in; nobody else does; the password shows nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from planted import WRONG, files_with, planted, private, shown_by_processes, with_security
from rabbitmq_load import BROKERS, GROUP, PARTITIONS, agent, cell, consume, processes_of, publish, soon, started

from brokerlab.brokers.contract import Cluster
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Security

PASSWORD = 'plänted "secret" # \\ 7a2c'  # every character that needs care somewhere
REFERENCE = "env:BROKERLAB_TEST_RABBITMQ_PASSWORD"
SECURITY = Security(tls=True, user="mary@lab", password=REFERENCE)
KINDS = ("classic", "quorum", "stream")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rabbitmq-tls")


@pytest.fixture(scope="module")
def cluster(directory: Path) -> Iterator[Cluster]:
    with planted(REFERENCE, PASSWORD), started(cell("stream", security=SECURITY), directory) as running:
        yield running


@pytest.mark.parametrize("kind", KINDS)
def test_messages_go_through_and_the_password_shows_nowhere(cluster: Cluster, directory: Path, kind: str) -> None:
    endpoint, broker = cluster.endpoint(), BROKERS[kind]
    admin = broker.admin(endpoint, cell(kind, security=SECURITY))
    admin.create((f"secure-{kind}",), PARTITIONS, (GROUP,))
    assert admin.durability((f"secure-{kind}",)).level == cell(kind).durability
    with ExitStack() as stack:
        producer = broker.producer(agent(kind, "producer", endpoint, f"secure-{kind}"), 0)
        stack.callback(producer.close, soon())
        consumer = broker.consumer(agent(kind, "consumer", endpoint, f"secure-{kind}"), 0)
        stack.callback(consumer.close, soon())
        assert publish(producer, 500) == dict.fromkeys(range(500), ACKNOWLEDGED)
        assert sorted(consume(consumer, 500)) == list(range(500))
        assert consumer.remaining() == 0
        servers = processes_of(directory)
        assert len(servers) >= 2, "the node and the port mapper"
        assert shown_by_processes("7a2c", of=servers) == []
    assert "Server startup complete" in (directory / "logs" / "rabbitmq-1.log").read_text(errors="replace")
    assert files_with("7a2c", directory / "logs") == []
    assert "7a2c" not in str(admin.effective_settings((f"secure-{kind}",)))


def test_no_file_holds_the_password_and_keys_are_for_the_owner_only(cluster: Cluster, directory: Path) -> None:  # noqa: ARG001
    data = directory / "data"
    assert files_with("7a2c", data) == []
    keys = [p for p in data.rglob("*") if p.name in ("server-key.pem", "definitions.json", ".erlang.cookie")]
    assert len(keys) == 3
    assert private(keys)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"password": WRONG}, "check user and password"),
        ({"user": "guest", "password": WRONG}, "check user and password"),
        ({"tls": False}, "does it want TLS"),
        ({"ca_file": None}, "cannot connect"),
    ],
)
def test_whoever_lacks_something_is_refused_in_plain_words(
    cluster: Cluster, kind: str, changes: dict[str, object], said: str
) -> None:
    endpoint = with_security(cluster.endpoint(), **changes)
    for role in ("producer", "consumer"):
        connect = getattr(BROKERS[kind], role)
        with pytest.raises(BrokerError) as caught:
            connect(agent(kind, role, endpoint, f"secure-{kind}"), 0)
        assert said in str(caught.value)
        assert "7a2c" not in str(caught.value)
    with pytest.raises(BrokerError):
        BROKERS[kind].admin(endpoint, cell(kind)).create(("refused",), 1, ())
