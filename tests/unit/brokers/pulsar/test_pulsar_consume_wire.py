"""The C side of a Pulsar consumer: what is handed out, what the broker is told, and what happens when it breaks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulsar_frames import (
    ACK,
    CLOSE_CONSUMER,
    FLOW,
    PING,
    PONG,
    SUCCESS,
    Consumer,
    command,
    delivery,
    fields,
    number,
)

from brokerlab.brokers.pulsar.consumer import position
from brokerlab.native import library, why_not

pytestmark = pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")
CARE, ENDED = -1, -2


@pytest.fixture
def make() -> Iterator[Callable[..., Consumer]]:
    made: list[Consumer] = []

    def one(**settings: int) -> Consumer:
        made.append(Consumer(**settings))  # type: ignore[arg-type]
        return made[-1]

    yield one
    for consumer in made:
        consumer.close()


def acknowledged(consumer: Consumer, connection: int = -1) -> list[tuple[int, int, int, tuple[int, ...]]]:
    """Consumer id, ledger, entry and what is left of it, of all acknowledgements told."""
    found = []
    for kind, said, _ in consumer.ends.heard(connection):
        if kind != ACK:
            continue
        parts = fields(said)
        assert (2, 0) in parts, "each by itself"
        for key, value in parts:
            if key == 3:
                assert isinstance(value, bytes)
                inside = fields(value)
                left = tuple(int(v) for k, v in inside if k == 5)
                ids = dict(inside)
                found.append((int(dict(parts)[1]), int(ids[1]), int(ids[2]), left))
    return found


@given(st.lists(st.lists(st.binary(max_size=50), min_size=1, max_size=9), min_size=1, max_size=9), st.integers(1, 20))
def test_messages_come_in_order_however_few_are_taken_at_a_time(batches: list[list[bytes]], most: int) -> None:
    consumer = Consumer()
    for entry, batch in enumerate(batches):
        consumer.ends.say(delivery(0, entry, batch))
    got = []
    while (found := consumer.receive(most))[0]:
        got += found[1]
        assert found[0] <= most
    assert [m.payload for m in got] == [m for batch in batches for m in batch]
    assert [m.position for m in got] == [position(3, e, i) for e, b in enumerate(batches) for i in range(len(b))]
    consumer.close()


def test_a_message_without_a_batch_and_what_a_broker_may_put_before_are_read(make: Callable[..., Consumer]) -> None:
    consumer = make()
    consumer.ends.say(delivery(1, 5, [b"alone"], batch=False, redeliveries=2))
    consumer.ends.say(delivery(1, 6, [b"x", b"y"], broker_metadata=b"anything"))
    n, got, _ = consumer.receive()
    assert n == 3
    assert [(m.payload, m.redelivered) for m in got] == [(b"alone", True), (b"x", False), (b"y", False)]


def test_frames_may_come_in_any_cut_and_a_ping_between_them_is_answered(make: Callable[..., Consumer]) -> None:
    consumer = make()
    got = []
    for byte in command(PING) + delivery(0, 1, [b"a", b"b"]):
        consumer.ends.say(bytes([byte]))
        got += consumer.receive()[1]
    assert [m.payload for m in got] == [b"a", b"b"]
    assert PONG in [kind for kind, _, _ in consumer.ends.heard()]


def test_the_broker_may_send_as_many_as_were_handed_out(make: Callable[..., Consumer]) -> None:
    consumer = make(lanes=2, queue=10)

    def flows() -> list[tuple[int, int]]:
        heard = [dict(fields(said)) for kind, said, _ in consumer.ends.heard() if kind == FLOW]
        return [(int(one[1]), int(one[2])) for one in heard]

    assert flows() == [(1, 10), (2, 10)]
    consumer.ends.say(delivery(1, 1, [b"x"] * 4))
    consumer.receive()
    assert flows() == []
    consumer.ends.say(delivery(1, 2, [b"x"] * 3))
    consumer.receive()
    assert flows() == [(2, 7)]


def test_whole_entries_are_acknowledged_as_such_and_parts_by_what_is_left(make: Callable[..., Consumer]) -> None:
    consumer = make()
    consumer.ends.say(delivery(0, 1, [b"a"] * 5) + delivery(1, 9, [b"b"]) + delivery(0, 2, [b"c"] * 3))
    n, _, first = consumer.receive(7)
    assert n == 7
    consumer.acknowledge(first, n)
    consumer.tell()
    assert sorted(acknowledged(consumer)) == [(1, 3, 1, ()), (1, 3, 2, (0b110,)), (2, 3, 9, ())]
    n, _, first = consumer.receive()
    assert n == 2
    consumer.acknowledge(first, n)
    consumer.tell()
    assert acknowledged(consumer) == [(1, 3, 2, ())]
    consumer.tell()
    assert acknowledged(consumer) == []


def test_what_is_acknowledged_twice_or_out_of_order_is_told_once(make: Callable[..., Consumer]) -> None:
    consumer = make()
    consumer.ends.say(delivery(0, 1, [b"a"] * 4))
    first = consumer.receive()[2]
    consumer.acknowledge(first + 2, 2)
    consumer.acknowledge(first + 2, 1)
    consumer.tell()
    assert acknowledged(consumer) == [(1, 3, 1, (0b0011,))]
    consumer.acknowledge(first, 4)
    consumer.acknowledge(first, 4)
    consumer.tell()
    assert acknowledged(consumer) == [(1, 3, 1, ())]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=20))
def test_acknowledgements_of_any_parts_tell_exactly_what_is_left(parts: list[tuple[int, int]]) -> None:
    sizes = [1, 7, 30, 70]
    consumer = Consumer(lanes=1, queue=1000)
    for entry, size in enumerate(sizes):
        consumer.ends.say(delivery(0, entry, [b"m"] * size))
    n, _, first = consumer.receive()
    assert n == sum(sizes)
    left = [set(range(size)) for size in sizes]
    told: dict[int, set[int]] = {}
    for begin, count in parts:
        count = min(count, n - begin)
        consumer.acknowledge(first + begin, count)
        for ordinal in range(begin, begin + count):
            entry = 0
            while ordinal >= sizes[entry]:
                ordinal -= sizes[entry]
                entry += 1
            left[entry].discard(ordinal)
        consumer.tell()
        for _, _, entry, words in acknowledged(consumer):
            told[entry] = {64 * w + b for w, word in enumerate(words) for b in range(64) if word >> b & 1}
    assert told == {e: one for e, one in enumerate(left) if len(one) < sizes[e]}
    consumer.close()


def test_what_was_acknowledged_before_is_left_out(make: Callable[..., Consumer]) -> None:
    consumer = make()
    consumer.ends.say(delivery(0, 1, [b"0", b"1", b"2", b"3"], left=[0b1010]))
    consumer.ends.say(delivery(0, 2, [str(i).encode() for i in range(70)], left=[1 << 5]))
    n, got, first = consumer.receive()
    assert [m.payload for m in got] == [b"1", b"3", b"5"]
    assert [m.position for m in got] == [position(3, 1, 1), position(3, 1, 3), position(3, 2, 5)]
    consumer.acknowledge(first, 1)
    consumer.tell()
    assert acknowledged(consumer) == [(1, 3, 1, (0b1000,))]
    consumer.acknowledge(first, n)
    consumer.tell()
    assert acknowledged(consumer) == [(1, 3, 1, ()), (1, 3, 2, ())]


def test_acknowledgements_are_told_within_a_tenth_of_a_second_while_it_is_asked(make: Callable[..., Consumer]) -> None:
    consumer = make()
    consumer.ends.say(delivery(0, 1, [b"a"]))
    consumer.acknowledge(consumer.receive()[2], 1)
    assert acknowledged(consumer) == []
    consumer.receive(10, time.monotonic_ns() + 10**9 // 5)
    assert acknowledged(consumer) == [(1, 3, 1, ())]


def test_a_lost_connection_asks_for_care_and_acknowledgements_wait_for_the_next(make: Callable[..., Consumer]) -> None:
    consumer = make()
    consumer.ends.say(delivery(0, 1, [b"a"] * 4))
    n, _, first = consumer.receive(3)
    assert n == 3
    consumer.ends.hang_up()
    assert [m.payload for m in consumer.receive()[1]] == [b"a"], "what was received whole before the loss is seen"
    assert consumer.receive()[0] == CARE
    assert consumer.down() == [0, 1]
    consumer.acknowledge(first, n)
    consumer.tell()
    consumer.attach([0, 1])
    consumer.tell()
    assert acknowledged(consumer) == [(1, 3, 1, (0b1000,))]
    consumer.ends.say(delivery(0, 1, [b"a"] * 4, left=[0b1000]))
    n, _, first = consumer.receive()
    assert n == 1
    consumer.acknowledge(first, n)
    consumer.tell()
    assert acknowledged(consumer) == [(1, 3, 1, ())]


def test_a_consumer_that_the_broker_closes_leaves_the_others_alone(make: Callable[..., Consumer]) -> None:
    consumer = make()
    consumer.ends.say(command(CLOSE_CONSUMER, number(1, 1) + number(2, 5)) + delivery(0, 1, [b"late"]))
    consumer.ends.say(delivery(1, 1, [b"b"]))
    assert [m.payload for m in consumer.receive()[1]] == [b"b"]
    assert consumer.down() == [0]
    consumer.attach([0])
    consumer.ends.say(delivery(0, 1, [b"late"]))
    assert [m.payload for m in consumer.receive()[1]] == [b"late"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (delivery(0, 1, [b"a"], wrong_crc=1), "checksum"),
        (delivery(0, 1, [b"a"], metadata=number(8, 1)), "driver: python"),
        (delivery(0, 1, [b"a"], batch=False, metadata=number(11, 1000)), "none"),  # for so few bytes
        (delivery(0, 1, [bytes(100)], batch=False, metadata=number(11, 2)), "ends before"),
    ],
)
def test_what_cannot_be_read_ends_it_with_the_reason(make: Callable[..., Consumer], said: bytes, why: str) -> None:
    consumer = make()
    consumer.ends.say(said)
    assert consumer.receive()[0] == ENDED
    assert why in consumer.why()


def test_a_frame_that_is_none_of_pulsars_ends_the_connection_only(make: Callable[..., Consumer]) -> None:
    consumer = make()
    consumer.ends.say(b"GET / HTTP/1.1\r\n\r\n")
    assert consumer.receive()[0] == CARE
    assert "Pulsar" in consumer.why()


def test_leaving_tells_all_and_waits_for_the_answers(make: Callable[..., Consumer]) -> None:
    consumer = make()
    consumer.ends.say(delivery(0, 1, [b"a"] * 2))
    n, _, first = consumer.receive()
    consumer.acknowledge(first, n)
    asked: list[int] = []

    def broker() -> None:
        until = time.monotonic() + 60
        while len(asked) < 2 and time.monotonic() < until:
            for kind, said, _ in consumer.ends.heard():
                if kind == CLOSE_CONSUMER:
                    asked.append(int(dict(fields(said))[1]))
                    consumer.ends.say(command(SUCCESS, number(1, int(dict(fields(said))[2]))))

    thread = threading.Thread(target=broker)
    thread.start()
    begun = time.monotonic()
    consumer.leave(time.monotonic_ns() + 60 * 10**9)
    thread.join()
    assert asked == [1, 2]
    assert time.monotonic() - begun < 50
    begun = time.monotonic()
    consumer.leave(time.monotonic_ns() + 10**8)
    assert time.monotonic() - begun < 30, "without an answer it returns at its deadline"
