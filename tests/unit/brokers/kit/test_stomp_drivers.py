"""STOMP drivers against a socket that plays a server's part, answer by answer."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.brokers.kit.stomp_drivers import StompConsumer, StompProducer
from brokerlab.brokers.kit.stomp_frames import Frame, FrameReader, frame
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN, Block, Settlements
from brokerlab.model.plan import Endpoint

OUTCOMES = OutcomeTable(rejected="not.Allowed", unknown="disk.Full")
PATIENCE_S = 60.0
Answer = Callable[[Frame], bytes]


class Server:
    """Answers each frame as `answer` says; every connection is greeted. An answer of None closes the connection."""

    def __init__(self) -> None:
        self.answer: Callable[[Frame], bytes | None] = lambda _: b""
        self.frames: list[Frame] = []
        self.greeting: bytes = frame("CONNECTED", {"version": "1.2"})
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        reader = FrameReader()
        with connection:
            try:
                while data := connection.recv(1 << 16):
                    for received in reader.feed(data)[1]:
                        answer = self._answer(received)
                        if answer is None:
                            return
                        connection.sendall(answer)
            except OSError:
                return

    def _answer(self, received: Frame) -> bytes | None:
        if received.command == b"CONNECT":
            return self.greeting
        self.frames.append(received)
        receipt = received.header(b"receipt") or b""
        if receipt == b"done":
            return b"RECEIPT\nreceipt-id:done\n\n\0"
        return self.answer(received)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def plan(server: Server, acknowledge: str = "batch") -> Any:
    return SimpleNamespace(
        endpoint=Endpoint(addresses=(server.address,)),
        agent="a",
        group="g",
        consumers=SimpleNamespace(acknowledge=acknowledge),
        outage_s=0.0,
    )


def producer(server: Server) -> StompProducer:
    return StompProducer(plan(server), 0, ["/queue/a"], {"persistent": "true"}, OUTCOMES, 1 << 20)


def block(count: int, first_index: int = 0) -> Block:
    return Block(
        np.arange(count * 8, dtype=np.uint8),
        np.arange(count, dtype=np.int64) * 8,
        np.full(count, 8, np.int32),
        np.zeros(count, np.int32),
        first_index,
    )


def settle(made: StompProducer, count: int) -> tuple[dict[int, int], Counter[str]]:
    """Until so many messages have settled: their outcomes and the errors told."""
    until = time.monotonic() + PATIENCE_S
    outcomes: dict[int, int] = {}
    errors: Counter[str] = Counter()
    while len(outcomes) < count:
        settled: Settlements = made.settled()
        outcomes.update(zip(settled.indices.tolist(), settled.outcomes.tolist(), strict=True))
        errors.update(settled.errors)
        assert time.monotonic() < until, f"{len(outcomes)} of {count} settled"
    return outcomes, errors


def receipt(received: Frame) -> bytes:
    return b"RECEIPT\nreceipt-id:%b\n\n\0\n" % (received.header(b"receipt") or b"")


def test_receipts_settle_the_messages_they_name_in_whatever_order_they_come(server: Server) -> None:
    held: list[bytes] = []

    def answer(received: Frame) -> bytes:
        held.append(receipt(received))
        return b"".join(reversed(held)) if len(held) == 5 else b""

    server.answer = answer
    made = producer(server)
    assert made.send(block(5, first_index=100)) == 5
    assert settle(made, 5) == (dict.fromkeys(range(100, 105), ACKNOWLEDGED), Counter())
    assert {f.header(b"persistent") for f in server.frames} == {b"true"}
    made.close(time.monotonic_ns() + 10**10)
    assert server.frames[-1].command == b"DISCONNECT"


@pytest.mark.parametrize(
    ("body", "outcome"), [(b"not.Allowed: no\n\tat x", REJECTED), (b"disk.Full: no", UNKNOWN), (b"never seen", UNKNOWN)]
)
def test_an_error_that_names_a_receipt_settles_that_message_only(server: Server, body: bytes, outcome: int) -> None:
    def answer(received: Frame) -> bytes:
        number = (received.header(b"receipt") or b"").decode()
        return (
            frame("ERROR", {"receipt-id": number, "message": "no: really"}, body)
            if number == "2"
            else receipt(received)
        )

    server.answer = answer
    made = producer(server)
    made.send(block(3))
    outcomes, errors = settle(made, 3)
    assert outcomes == {0: ACKNOWLEDGED, 1: outcome, 2: ACKNOWLEDGED}
    assert errors == {"no: really": 1}
    assert made.watched(), "the connection goes on"
    made.close(time.monotonic_ns() + 10**10)


def test_an_error_without_a_body_is_known_by_the_first_word_of_its_message(server: Server) -> None:
    server.answer = lambda received: frame(
        "ERROR", {"receipt-id": (received.header(b"receipt") or b"").decode(), "message": "not.Allowed to send"}
    )
    made = producer(server)
    made.send(block(2))
    assert settle(made, 2) == ({0: REJECTED, 1: REJECTED}, Counter({"not.Allowed to send": 2}))
    made.close(time.monotonic_ns() + 10**10)


def test_an_error_without_a_receipt_makes_all_that_is_open_unknown_and_the_connection_is_made_again(
    server: Server,
) -> None:
    server.answer = lambda _: frame("ERROR", {"message": "bad"})
    made = producer(server)
    made.send(block(4))
    outcomes, errors = settle(made, 4)
    assert set(outcomes.values()) == {UNKNOWN}
    assert errors == {"closed by the server: bad": 4}
    server.answer = receipt
    until = time.monotonic() + PATIENCE_S
    while not made.send(block(2, first_index=4)):
        assert len(made.settled()) == 0
        assert time.monotonic() < until
    assert settle(made, 2)[0] == {4: ACKNOWLEDGED, 5: ACKNOWLEDGED}
    made.close(time.monotonic_ns() + 10**10)


def test_a_password_that_is_wrong_is_said(server: Server) -> None:
    server.greeting = frame("ERROR", {"message": "User name [x] or password is invalid."})
    with pytest.raises(BrokerError) as told:
        producer(server)
    assert told.value.hint == "check user and password"


class Consumer(StompConsumer):
    """Of two queues."""

    waiting: int | None = None  # what its broker says

    def __init__(self, server: Server, acknowledge: str) -> None:
        super().__init__(plan(server, acknowledge), 0)
        self._start_reading()

    def _subscriptions(self) -> list[dict[str, str]]:
        return [{"destination": "/queue/a"}, {"destination": "/queue/b"}]

    def _waiting(self) -> int | None:
        if self.waiting is not None and self.waiting < 0:
            raise BrokerError("no answer")
        return self.waiting


def messages(count: int) -> bytes:
    """In turn of two subscriptions; every third comes again."""
    made = b""
    for i in range(count):
        again = {"redelivered": "true"} if i % 3 == 0 else {}
        headers = {"subscription": str(i % 2), "ack": f"ID:{i}", "content-length": "2", **again}
        made += frame("MESSAGE", headers, bytes([i, 0])) + b"\n"
    return made


@pytest.mark.parametrize(
    ("acknowledge", "mode", "acknowledged"),
    [
        ("batch", b"client", [[rb"ID\c2", rb"ID\c1"], [rb"ID\c5", rb"ID\c4"]]),
        ("each", b"client-individual", [[rb"ID\c0", rb"ID\c1", rb"ID\c2"], [rb"ID\c3", rb"ID\c4", rb"ID\c5"]]),
        ("automatic", b"auto", [[], []]),
    ],
)
def test_a_consumer_acknowledges_as_it_was_asked_to(
    server: Server, acknowledge: str, mode: bytes, acknowledged: list[list[bytes]]
) -> None:
    server.answer = lambda received: messages(6) if received.command == b"SEND" else b""
    made = Consumer(server, acknowledge)
    assert [f.header(b"ack") for f in server.frames] == [mode, mode]
    link = made._link
    assert link is not None
    link.write(frame("SEND", {}))  # sets the messages off
    for part in range(2):
        deliveries = made.receive(3, time.monotonic_ns() + int(PATIENCE_S * 1e9))
        assert len(deliveries) == 3
        assert deliveries.redelivered.tolist() == [1, 0, 0]
        made.acknowledge(deliveries)
        link.call("BEGIN", {"transaction": "t"})  # the server has read everything before it
        acks = [f.header(b"id") for f in server.frames if f.command == b"ACK"]
        assert acks == [ack for some in acknowledged[: part + 1] for ack in some]
    made.close(time.monotonic_ns() + 10**10)


@pytest.mark.parametrize(
    ("acknowledge", "waiting", "remaining"),
    [("batch", 6, 6), ("automatic", 2, 5), ("batch", None, None), ("automatic", None, None), ("batch", -1, None)],
)
def test_what_remains_is_what_the_broker_holds_and_what_only_the_consumer_holds(
    server: Server, acknowledge: str, waiting: int | None, remaining: int | None
) -> None:
    server.answer = lambda received: messages(6) if received.command == b"SEND" else b""
    made = Consumer(server, acknowledge)
    assert made.link is not None
    made.link.write(frame("SEND", {}))
    assert len(made.receive(3, time.monotonic_ns() + int(PATIENCE_S * 1e9))) == 3
    made.waiting = waiting
    assert made.remaining() == remaining
    made.close(time.monotonic_ns() + 10**10)


def test_what_came_by_a_lost_connection_is_not_acknowledged_by_the_next(server: Server) -> None:
    server.answer = lambda received: messages(1) if received.command == b"SEND" else None
    made = Consumer(server, "batch")
    link = made._link
    assert link is not None
    link.write(frame("SEND", {}))
    deliveries = made.receive(3, time.monotonic_ns() + int(PATIENCE_S * 1e9))
    assert len(deliveries) == 1
    link.write(frame("NACK", {}))  # makes the server close
    until = time.monotonic() + PATIENCE_S
    while made._link is link or made._link is None:
        assert len(made.receive(3, time.monotonic_ns() + 10**7)) == 0
        assert time.monotonic() < until
    made.acknowledge(deliveries)
    made.close(time.monotonic_ns() + 10**10)
    assert not [f for f in server.frames if f.command == b"ACK"]
