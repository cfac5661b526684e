"""One node that sends its clients elsewhere: something may stand between them and the server."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from kafka_load import BROKER, agent, cell, consume, publish, soon

from brokerlab.install.cache import silent
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Endpoint, Role


class Forwarder:
    """Passes bytes on in both directions and counts those from clients."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.target = ("127.0.0.1", 0)
        self.bytes_from_clients = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
                server = socket.create_connection(self.target)
            except OSError:
                return
            threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        with closing(source), closing(sink):
            try:
                while some := source.recv(65536):
                    sink.sendall(some)
                    self.bytes_from_clients += len(some) if counted else 0
            except OSError:
                return

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


@pytest.fixture
def forwarder() -> Forwarder:
    return Forwarder()


def test_clients_follow_the_advertised_address(tmp_path: Path, forwarder: Forwarder) -> None:
    asked = cell(1, Durability.L4, broker_settings={"advertised.listeners": f"PLAINTEXT://{forwarder.address}"})
    assert BROKER.problems(asked) == []
    assert BROKER.install(silent).runs_here
    cluster = BROKER.cluster(asked, tmp_path / "data", tmp_path / "logs")
    host, port = cluster.endpoint().addresses[0].split(":")
    forwarder.target = (host, int(port))
    with ExitStack() as stack:
        stack.callback(forwarder.close)
        stack.callback(cluster.clean)
        stack.callback(cluster.stop)
        cluster.start()
        cluster.wait_ready(soon())
        BROKER.admin(cluster.endpoint(), asked).create(("passed",), 2, ())
        before = forwarder.bytes_from_clients
        through = Endpoint(addresses=(forwarder.address,))
        producer = BROKER.producer(agent(Role.PRODUCER, through, ("passed",)), 0)
        stack.callback(producer.close, soon())
        assert publish(producer, 1000) == dict.fromkeys(range(1000), ACKNOWLEDGED)
        assert forwarder.bytes_from_clients - before > 1000 * 100
        consumer = BROKER.consumer(agent(Role.CONSUMER, through, ("passed",)), 0)
        stack.callback(consumer.close, soon())
        assert sorted(consume(consumer, 1000)) == list(range(1000))
