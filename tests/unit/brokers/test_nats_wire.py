"""Connecting and connecting again on the native path, against sockets that play a server's part."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from nats_frames import GREETING, UP, ProducerEnd

from brokerlab.brokers.nats import wire
from brokerlab.brokers.nats.wire import Wire, hello, new_inbox
from brokerlab.errors import BrokerError, UserError
from brokerlab.model.plan import Endpoint, Security
from brokerlab.native import library, why_not

needs_c = pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")


def test_the_hello_subscribes_in_order_and_ends_with_a_ping() -> None:
    connect, *rest = hello(Endpoint(addresses=("h:1",)), "me", ["a.*", "b"]).split(b"\r\n")
    said = json.loads(connect.removeprefix(b"CONNECT "))
    assert said["headers"]
    assert said["no_responders"]
    assert "user" not in said
    assert rest == [b"SUB a.* 1", b"SUB b 2", b"PING", b""]


def test_user_and_password_are_said_and_a_missing_secret_is_the_users_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATS_TEST_PASSWORD", 'p"w')
    endpoint = Endpoint(addresses=("h:1",), security=Security(user="lab", password="env:NATS_TEST_PASSWORD"))
    said = json.loads(hello(endpoint, "me", []).split(b"\r\n")[0].removeprefix(b"CONNECT "))
    assert (said["user"], said["pass"]) == ("lab", 'p"w')
    monkeypatch.delenv("NATS_TEST_PASSWORD")
    with pytest.raises(UserError):
        hello(endpoint, "me", [])


def test_inboxes_are_all_different() -> None:
    assert len({new_inbox("_R") for _ in range(100)}) == 100


@pytest.fixture
def end() -> Iterator[ProducerEnd]:
    made = ProducerEnd()
    yield made
    made.close()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(60)
        yield made


def address_of(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1]}"


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return address_of(taken)


class Greeter(threading.Thread):
    """Accepts one connection, says `first`, and PONG after the client's PING."""

    def __init__(self, listener: socket.socket, first: bytes = GREETING) -> None:
        super().__init__()
        self._listener, self._first = listener, first
        self.start()

    def run(self) -> None:
        self.connection, _ = self._listener.accept()
        self.connection.sendall(self._first)
        heard = b""
        while b"PING\r\n" not in heard and (more := self.connection.recv(4096)):
            heard += more
        if heard:
            self.connection.sendall(b"PONG\r\n")

    def close(self) -> None:
        self.join()
        self.connection.close()


@needs_c
def test_an_address_where_nobody_listens_is_passed_over(end: ProducerEnd, listener: socket.socket) -> None:
    greeter = Greeter(listener)
    addresses = (free_address(), address_of(listener))
    Wire(end.lib, end.handle, Endpoint(addresses=addresses), 0).open()
    assert end.state() == UP
    greeter.close()


@needs_c
@pytest.mark.parametrize(
    ("first", "said"),
    [(b'INFO {"tls_required":true}\r\n', "demands TLS"), (b"220 mail.example ESMTP\r\n", "does not speak NATS")],
)
def test_a_server_that_cannot_be_used_is_named_with_the_reason(
    end: ProducerEnd, listener: socket.socket, first: bytes, said: str
) -> None:
    greeter = Greeter(listener, first)
    with pytest.raises(BrokerError, match=said) as refused:
        Wire(end.lib, end.handle, Endpoint(addresses=(address_of(listener),)), 0).open()
    assert address_of(listener) in str(refused.value)
    greeter.close()


@needs_c
def test_an_address_that_is_none_is_a_broker_error(end: ProducerEnd) -> None:
    with pytest.raises(BrokerError, match="host:port"):
        Wire(end.lib, end.handle, Endpoint(addresses=("nowhere",)), 0)


@needs_c
def test_a_lost_connection_is_healed_at_the_next_address_without_waiting(
    end: ProducerEnd, listener: socket.socket
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(60)
        first = Greeter(listener)
        link = Wire(end.lib, end.handle, Endpoint(addresses=(address_of(listener), address_of(other))), 0)
        link.open()
        second = Greeter(other)
        first.close()
        until = time.monotonic() + 60
        while end.state() == UP:
            end.settled()
            assert time.monotonic() < until
        while end.state() != UP:
            link.heal()
            end.settled()
            assert time.monotonic() < until
        second.close()


@needs_c
def test_a_server_that_accepts_and_says_nothing_is_given_up(
    end: ProducerEnd, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "CONNECT_NS", 50_000_000)
    with pytest.raises(BrokerError, match="no greeting in time"):
        Wire(end.lib, end.handle, Endpoint(addresses=(address_of(listener),)), 0).open()
