"""Finding brokers and opening lanes on them, against sockets that answer as Pulsar's brokers do."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from pulsar_frames import command, frames, nested, number

from brokerlab.brokers.kit.protobuf import fields_of, message, number_in, text_in
from brokerlab.brokers.pulsar import opening as module
from brokerlab.brokers.pulsar.opening import Mending, Opened, Opening
from brokerlab.brokers.pulsar.speaking import (
    CONNECT,
    CONNECTED,
    ERROR,
    LOOKUP,
    LOOKUP_RESPONSE,
    PING,
    PONG,
    PRODUCER,
    PRODUCER_SUCCESS,
)
from brokerlab.errors import BrokerError

SERVICE_NOT_READY, TOPIC_NOT_FOUND, NOT_ALLOWED = 6, 11, 22
REDIRECT, CONNECT_THERE = 0, 1
Answer = Callable[[int, dict], bytes]  # type: ignore[type-arg]  # of the type of a command and its fields


class Broker:
    """Answers each command by a function, one connection after the other or several at once."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.heard: list[tuple[int, dict]] = []  # type: ignore[type-arg]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        data = b""
        with client:
            while True:
                try:
                    more = client.recv(4096)
                    if not more:
                        return
                    found, data = frames(data + more)
                    for kind, said, _ in found:
                        self.heard.append((kind, fields_of(said)))
                        client.sendall(self._answer(*self.heard[-1]))
                except OSError:
                    return

    def close(self) -> None:
        self._listener.close()


def serving(where: Callable[[], str], how: int = CONNECT_THERE, proxied: bool = False) -> Answer:
    """Sends lookups there, opens all producers, and pings before it greets."""

    def answer(kind: int, said: dict) -> bytes:  # type: ignore[type-arg]
        if kind == CONNECT:
            return command(PING) + command(CONNECTED, nested(1, b"x") + number(2, 19) + number(3, 1000))
        if kind == LOOKUP:
            found = nested(1, f"pulsar://{where()}".encode()) + number(3, how) + number(4, number_in(said, 2))
            return command(LOOKUP_RESPONSE, found + number(5, 1) + (number(8, 1) if proxied else b""))
        if kind == PRODUCER:
            made, last = f"made-{text_in(said, 1)}".encode(), text_in(said, 1) == "t1"
            opened = command(PRODUCER_SUCCESS, number(1, number_in(said, 3)) + nested(2, made))
            return opened + (command(PING)[:3] if last else b"")
        return b""

    return answer


@pytest.fixture
def start() -> Iterator[Callable[[Answer], Broker]]:
    made: list[Broker] = []

    def one(answer: Answer) -> Broker:
        made.append(Broker(answer))
        return made[-1]

    yield one
    for broker in made:
        broker.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PATIENCE_S": 0.5, "UNKNOWN_TOPIC_S": 0.2, "AGAIN_S": 0.02}.items():
        monkeypatch.setattr(module, name, value)


def opening(*addresses: str, topics: int = 2) -> Opening:
    names = {lane: f"t{lane}" for lane in range(topics)}
    return Opening(
        addresses,
        names,
        lambda lane, request: (PRODUCER, message([(1, names[lane]), (2, lane + 1), (3, request)])),
    )


def closed(found: list[Opened]) -> list[Opened]:
    for one in found:
        os.close(one.number)
    return found


def test_lanes_are_opened_where_the_lookup_says_and_what_was_read_too_far_is_handed_over(
    start: Callable[[Answer], Broker],
) -> None:
    broker = start(serving(lambda: broker.address))
    (one,) = closed(opening(broker.address).everything())
    assert (one.lanes, one.names, one.message_most) == ([0, 1], ["made-t0", "made-t1"], 1000)
    assert one.read == command(PING)[:3]
    assert PONG in [kind for kind, _ in broker.heard]


def test_a_redirected_lookup_is_asked_again_there(start: Callable[[Answer], Broker]) -> None:
    owner = start(serving(lambda: owner.address))
    other = start(serving(lambda: owner.address, REDIRECT))
    (one,) = closed(opening(other.address).everything())
    assert one.lanes == [0, 1]
    asked = [said for kind, said in owner.heard if kind == LOOKUP]
    assert [number_in(said, 3) for said in asked] == [1, 1], "with the authority that the redirection gave"


def test_behind_a_proxy_the_broker_is_named_to_it(start: Callable[[Answer], Broker]) -> None:
    proxy = start(serving(lambda: "127.0.0.1:9", proxied=True))
    closed(opening(proxy.address).everything())
    assert [text_in(said, 6) for kind, said in proxy.heard if kind == CONNECT] == ["", "127.0.0.1:9"]


def test_another_address_is_tried_where_the_first_does_not_answer(start: Callable[[Answer], Broker]) -> None:
    broker = start(serving(lambda: broker.address))
    assert len(closed(opening("127.0.0.1:9", broker.address).everything())) == 1


def refusing(error: int, times: int, then: Answer) -> Answer:
    left = [times]

    def answer(kind: int, said: dict) -> bytes:  # type: ignore[type-arg]
        if kind == PRODUCER and text_in(said, 1) == "t1" and left[0] > 0:
            left[0] -= 1
            return command(ERROR, number(1, number_in(said, 3)) + number(2, error) + nested(3, b"not now\nat all"))
        return then(kind, said)

    return answer


def test_what_passes_is_tried_again_for_the_lanes_that_are_missing(start: Callable[[Answer], Broker]) -> None:
    broker = start(refusing(SERVICE_NOT_READY, 2, serving(lambda: broker.address)))
    found = closed(opening(broker.address).everything())
    assert [one.lanes for one in found] == [[0], [1]]


@pytest.mark.parametrize(
    ("error", "name"),
    [(SERVICE_NOT_READY, "ServiceNotReady"), (TOPIC_NOT_FOUND, "TopicNotFound"), (NOT_ALLOWED, "NotA")],
)
def test_what_does_not_pass_is_an_error_that_says_why(start: Callable[[Answer], Broker], error: int, name: str) -> None:
    broker = start(refusing(error, 10_000, serving(lambda: broker.address)))
    with pytest.raises(BrokerError, match=rf"{name}\w*: not now\b(?!.*at all)"):
        opening(broker.address).everything()


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", command(PONG), b"\0\0\0\x08\0\0\0\x04\xff\xff\xff\xff"]
)
def test_what_is_no_pulsar_is_an_error(start: Callable[[Answer], Broker], said: bytes) -> None:
    broker = start(lambda *_: said)
    with pytest.raises(BrokerError):
        opening(broker.address).everything()


def test_what_is_no_address_is_an_error_at_once() -> None:
    with pytest.raises(BrokerError, match="is not an address"):
        opening("nowhere")


def test_mending_opens_in_the_background_and_closes_what_comes_too_late(start: Callable[[Answer], Broker]) -> None:
    broker = start(serving(lambda: broker.address))
    mending = Mending(opening(broker.address))
    assert mending.step([1]) == []
    found: list[Opened] = []
    until = time.monotonic() + 60
    while not found and time.monotonic() < until:
        found = mending.step([1])
    assert [one.lanes for one in closed(found)] == [[1]]
    mending.close()
