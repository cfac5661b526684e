"""Kafka with TLS and a password: who has both gets in, on every path; nobody else does; the password shows nowhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from kafka_load import BROKER, agent, cell, consume, publish, soon, started
from planted import WRONG, files_with, planted, private, shown_by_processes, with_security

from brokerlab.brokers.contract import Broker, Cluster
from brokerlab.brokers.kafka.kmq.broker import BROKER as KMQ
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Endpoint, Role, Security

PASSWORD = 'plänted "secret" \\ 5f1e'  # every character that needs care in one of the files it goes through
REFERENCE = "env:BROKERLAB_TEST_KAFKA_PASSWORD"
SECURITY = Security(tls=True, user="mary@lab", password=REFERENCE)
SECONDS = 60.0  # far less than librdkafka would go on trying


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kafka-tls")


@pytest.fixture(scope="module")
def cluster(logs: Path) -> Iterator[Cluster]:
    secured = cell(1, Durability.L4, security=SECURITY)
    with planted(REFERENCE, PASSWORD), started(secured, logs) as cluster:
        yield cluster


@pytest.mark.parametrize(("broker", "driver"), [(BROKER, "native"), (BROKER, "python"), (KMQ, "python")])
def test_messages_go_through_and_the_password_shows_nowhere(
    cluster: Cluster, logs: Path, broker: Broker, driver: str
) -> None:
    if driver == "native" and BROKER.problems(cell(1, Durability.L4, driver="native")):
        pytest.fail("the native path was not built")
    topic = f"secure-{broker.name}-{driver}"
    endpoint = cluster.endpoint()
    broker.admin(endpoint, cell(1, Durability.L4)).create((topic,), 2, (f"group-{topic}",))
    with ExitStack() as stack:
        producer = broker.producer(agent(Role.PRODUCER, endpoint, (topic,), driver=driver), 0)
        stack.callback(producer.close, soon())
        consumer = broker.consumer(agent(Role.CONSUMER, endpoint, (topic,), driver=driver), 0)
        stack.callback(consumer.close, soon())
        assert publish(producer, 500) == dict.fromkeys(range(500), ACKNOWLEDGED)
        assert sorted(consume(consumer, 500)) == list(range(500))
        assert consumer.remaining() == 0
        assert shown_by_processes("5f1e", of=[node.pid for node in cluster.nodes()]) == []
    assert "Kafka Server started" in (logs / "logs" / "kafka-1.log").read_text(errors="replace")
    assert files_with("5f1e", logs / "logs") == []
    settings = broker.admin(endpoint, cell(1, Durability.L4)).effective_settings((topic,))
    assert "5f1e" not in str(settings)


def test_files_with_the_password_or_the_key_are_for_the_owner_only(cluster: Cluster, logs: Path) -> None:  # noqa: ARG001
    secret = [p for p in (logs / "data").rglob("*") if p.suffix in (".properties", ".pem") and _is_secret(p)]
    assert {p.name for p in secret} == {"server.properties", "server-key.pem", "server-both.pem"}
    assert private(secret)


def _is_secret(path: Path) -> bool:
    text = path.read_text()
    return "5f1e" in text or "PRIVATE KEY" in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"password": WRONG}, "refused user or password"),
        ({"user": "nobody"}, "refused user or password"),
        ({"user": None, "password": None}, "hangs up on us"),
        ({"ca_file": None}, "could not agree on TLS"),
        ({"tls": False, "user": None}, "hangs up on us"),
    ],
)
def test_whoever_lacks_something_is_told_so_in_seconds(cluster: Cluster, changes: dict[str, object], said: str) -> None:
    endpoint = with_security(cluster.endpoint(), **changes)
    begun = time.monotonic()
    with pytest.raises(BrokerError, match=said) as error:
        BROKER.admin(endpoint, cell(1, Durability.L4))
    assert time.monotonic() - begun < SECONDS
    assert error.value.hint is not None
    assert "security" in error.value.hint
    assert PASSWORD not in str(error.value)


def test_a_plain_connection_without_any_security_is_told_so(cluster: Cluster) -> None:
    endpoint = Endpoint(addresses=cluster.endpoint().addresses)
    with pytest.raises(BrokerError, match="TLS or a password"):
        BROKER.admin(endpoint, cell(1, Durability.L4))


@pytest.mark.parametrize("driver", ["native", "python"])
def test_drivers_do_not_hang_on_a_wrong_password(cluster: Cluster, driver: str) -> None:
    endpoint = with_security(cluster.endpoint(), password=WRONG)
    for make, role in ((BROKER.producer, Role.PRODUCER), (BROKER.consumer, Role.CONSUMER)):
        with pytest.raises(BrokerError, match="refused user or password"):
            make(agent(role, endpoint, ("t",), driver=driver), 0)


def test_the_controllers_listener_wants_the_same(cluster: Cluster) -> None:
    ours = psutil.Process(cluster.nodes()[0].pid)
    listening = {c.laddr.port for c in ours.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
    jolokia = int(cluster.nodes()[0].urls["jolokia"].split(":")[2].split("/")[0])
    clients = int(cluster.endpoint().addresses[0].split(":")[1])
    (controllers,) = listening - {jolokia, clients}
    assert not _answers_plainly(controllers)
    assert not _answers_plainly(clients)


def _answers_plainly(port: int) -> bool:
    """Whether a request for the protocol's versions, unencrypted, gets Kafka's answer."""
    import socket

    request = b"\x00\x12\x00\x00" + b"\x00\x00\x00\x07" + b"\x00\x04test"
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(len(request).to_bytes(4) + request)
        try:
            answer = connection.recv(8)
        except ConnectionResetError:
            return False
    return answer[4:8] == b"\x00\x00\x00\x07"
