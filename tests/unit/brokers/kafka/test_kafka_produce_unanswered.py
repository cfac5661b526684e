"""acks=0: brokers answer nothing, and a message has settled when the socket has taken it whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from kafka_produce_frames import Producer, Request, response

from brokerlab.native import library, why_not

pytestmark = pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")

A0, A1 = ("a", 0), ("a", 1)


@pytest.fixture
def make() -> Iterator[Callable[..., Producer]]:
    made: list[Producer] = []

    def one(**settings: int) -> Producer:
        made.append(Producer(acks=0, **settings))
        return made[-1]

    yield one
    for producer in made:
        producer.close()


def test_what_the_socket_took_has_settled_without_an_answer(make: Callable[..., Producer]) -> None:
    producer = make()
    before_ns = time.monotonic_ns()
    producer.send((0, b"x"), (1, b"y"), (0, b"z"))
    assert sorted(producer.settled()) == [(0, 0), (1, 0), (2, 0)]
    assert all(before_ns <= at <= time.monotonic_ns() for at in producer.at_ns[:3].tolist())
    assert producer.unsettled() == 0
    (asked,) = producer.heard()
    assert asked.values == {A0: [b"x", b"z"], A1: [b"y"]}


def test_more_than_the_requests_under_way_go_at_once(make: Callable[..., Producer]) -> None:
    producer = make(in_flight_most=1, batch_messages=1)
    producer.send(*((0, b"%d" % i) for i in range(20)))
    assert producer.settled() == [(i, 0) for i in range(20)]
    assert [r.values[A0] for r in producer.heard()] == [[b"%d" % i] for i in range(20)]


def test_what_the_socket_does_not_take_has_not_settled(make: Callable[..., Producer]) -> None:
    producer = make(batch_bytes=70_000, request_bytes=10**6)
    producer.connect(0, send_buffer=4096)
    values = [bytes([i]) * 60_000 for i in range(10)]
    producer.send(*((0, v) for v in values))
    found, asked = producer.settled(), []
    assert len(found) < 10
    assert producer.unsettled() > 0
    while producer.unsettled():
        asked += producer.heard()
        found += producer.settled()
    asked += producer.heard()
    while more := producer.settled():
        found += more
    assert found == [(i, 0) for i in range(10)]
    assert [v for r in asked for v in r.values[A0]] == values


def test_a_closed_connection_is_noticed_before_more_is_lost_in_it(make: Callable[..., Producer]) -> None:
    producer = make()
    producer.send((0, b"x"))
    assert producer.settled() == [(0, 0)]
    producer.broker[0].close()
    producer.send((0, b"y"))
    assert producer.settled() == []
    assert not producer.is_up()
    assert producer.needs_care()
    producer.connect(0)
    found: list[tuple[int, int]] = []
    while not found:
        found = producer.settled()
    assert found == [(1, 0)]
    (asked,) = producer.heard()
    assert asked.values == {A0: [b"y"]}, "what was handed over before is not sent again"


def test_a_request_half_written_when_the_connection_broke_is_written_again(make: Callable[..., Producer]) -> None:
    producer = make(batch_bytes=400_000, request_bytes=10**6)
    producer.connect(0, send_buffer=4096)
    producer.send((0, bytes(300_000)))
    assert producer.broker[0].recv(100)
    producer.connect(0)
    asked: list[Request] = []
    found: list[tuple[int, int]] = []
    while not (asked and found):
        found += producer.settled()
        asked += producer.heard()
    assert found == [(0, 0)]
    assert asked[0].values == {A0: [bytes(300_000)]}


def test_an_answer_that_was_not_asked_for_ends_the_connection(make: Callable[..., Producer]) -> None:
    producer = make()
    producer.send((0, b"x"))
    assert producer.settled() == [(0, 0)]
    producer.say(response(1, [("a", [(0, 0)])]))
    assert producer.settled() == []
    assert not producer.is_up()
