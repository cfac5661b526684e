"""RabbitMQ with TLS and a password: who has both gets in; nobody else does; the password shows nowhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from rabbitmq_load import BROKERS, GROUP, PARTITIONS, agent, cell, consume, processes_of, publish, soon, started

from brokerlab.brokers.contract import Cluster
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Endpoint, Security

PASSWORD = 'plänted "secret" # \\ 7a2c'  # every character that needs care somewhere
SECURITY = Security(tls=True, user="mary@lab", password="env:BROKERLAB_TEST_RABBITMQ_PASSWORD")
KINDS = ("classic", "quorum", "stream")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rabbitmq-tls")


@pytest.fixture(scope="module")
def cluster(directory: Path) -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BROKERLAB_TEST_RABBITMQ_PASSWORD", PASSWORD)
        patch.setenv("BROKERLAB_TEST_WRONG_PASSWORD", "wrong")
        with started(cell("stream", security=SECURITY), directory) as running:
            yield running


def with_security(cluster: Cluster, **changes: object) -> Endpoint:
    endpoint = cluster.endpoint()
    assert endpoint.security is not None
    return endpoint.model_copy(update={"security": endpoint.security.model_copy(update=changes)})


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
        for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):  # ended, perhaps not yet waited for
                assert not any("7a2c" in argument for argument in process.cmdline())
    servers = processes_of(directory)
    assert len(servers) >= 2
    assert not any(b"7a2c" in Path(f"/proc/{pid}/environ").read_bytes() for pid in servers)
    words = [path.read_text(errors="replace") for path in (directory / "logs").iterdir()]
    assert any("Server startup complete" in text for text in words)
    assert not any("7a2c" in text for text in words)
    assert "7a2c" not in str(admin.effective_settings((f"secure-{kind}",)))


def test_no_file_holds_the_password_and_keys_are_for_the_owner_only(cluster: Cluster, directory: Path) -> None:  # noqa: ARG001
    files = [p for p in (directory / "data").rglob("*") if p.is_file()]
    assert not any(b"7a2c" in p.read_bytes() for p in files)
    private = [p for p in files if p.name in ("server-key.pem", "definitions.json", ".erlang.cookie")]
    assert len(private) == 3
    assert all(p.stat().st_mode & 0o077 == 0 for p in private)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"password": "env:BROKERLAB_TEST_WRONG_PASSWORD"}, "check user and password"),
        ({"user": "guest", "password": "env:BROKERLAB_TEST_WRONG_PASSWORD"}, "check user and password"),
        ({"tls": False}, "does it want TLS"),
        ({"ca_file": None}, "cannot connect"),
    ],
)
def test_whoever_lacks_something_is_refused_in_plain_words(
    cluster: Cluster, kind: str, changes: dict[str, object], said: str
) -> None:
    endpoint = with_security(cluster, **changes)
    for role in ("producer", "consumer"):
        connect = getattr(BROKERS[kind], role)
        with pytest.raises(BrokerError) as caught:
            connect(agent(kind, role, endpoint, f"secure-{kind}"), 0)
        assert said in str(caught.value)
        assert "7a2c" not in str(caught.value)
    with pytest.raises(BrokerError):
        BROKERS[kind].admin(endpoint, cell(kind)).create(("refused",), 1, ())
