"""The C side of Kafka's Produce protocol: what is sent when, what becomes of it, and what happens when it breaks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka_frames import Record, read_batch
from kafka_produce_frames import Producer, Request, response

from brokerlab.native import library, why_not
from brokerlab.native.loader import address

pytestmark = pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")

TOO_LARGE, NOT_LEADER, NOT_ENOUGH_REPLICAS = 10, 6, 19
TRANSPORT, TIMED_OUT = -195, -192
SECOND_NS = 10**9
A0, A1, B0, B1 = ("a", 0), ("a", 1), ("b", 0), ("b", 1)


@pytest.fixture
def make() -> Iterator[Callable[..., Producer]]:
    made: list[Producer] = []

    def one(**settings: int) -> Producer:
        made.append(Producer(**settings))
        return made[-1]

    yield one
    for producer in made:
        producer.close()


def only(found: list[Request]) -> Request:
    assert len(found) == 1
    return found[0]


@given(
    st.lists(
        st.tuples(st.binary(max_size=300), st.integers(0, 2**32 - 1), st.integers(0, 10**6)), min_size=1, max_size=40
    ),
    st.booleans(),
)
def test_a_batch_is_what_kafka_documents(messages: list[tuple[bytes, int, int]], keyed: bool) -> None:
    lib = library()
    assert lib is not None
    values = np.frombuffer(b"".join(v for v, _, _ in messages) or b"\0", np.uint8)
    lengths = np.array([len(v) for v, _, _ in messages], np.int32)
    offsets = np.cumsum([0, *lengths[:-1].tolist()]).astype(np.int64)
    keys = np.array([k for _, k, _ in messages], np.uint32).astype(">u4")
    times_ms = 1_700_000_000_000 + np.array([t for _, _, t in messages], np.int64)
    out = np.zeros(100_000, np.uint8)
    size = lib.bl_batch_write(
        address(values), address(offsets), address(lengths), address(keys) if keyed else None,
        address(times_ms), len(messages), address(out), len(out),
    )  # fmt: skip
    found = read_batch(out[:size].tobytes())
    first = int(times_ms[0])
    assert found.first_ms == first
    assert found.last_ms == int(times_ms.max())
    assert found.records == tuple(
        Record(value, key.to_bytes(4, "big") if keyed else None, timestamp_delta=int(at) - first)
        for (value, key, _), at in zip(messages, times_ms, strict=True)
    )


def test_the_batches_of_all_partitions_of_a_leader_are_one_request(make: Callable[..., Producer]) -> None:
    producer = make()
    producer.send((0, b"x"), (3, b"y"), (0, b"z"), (1, b""), keys=[b"key1", b"key2", b"key3", b"key4"])
    asked = only(producer.heard())
    assert asked.values == {A0: [b"x", b"z"], A1: [b""], B1: [b"y"]}
    assert [r.key for r in asked.batches[A0].records] == [b"key1", b"key3"]
    assert producer.settled() == []
    assert producer.unsettled() == 4
    producer.say(asked.answer({A1: TOO_LARGE}))
    assert sorted(producer.settled()) == [(0, 0), (1, 0), (2, 0), (3, TOO_LARGE)]
    assert producer.unsettled() == 0


def test_a_batch_carries_the_time_of_day(make: Callable[..., Producer]) -> None:
    producer = make()
    before = time.time() * 1000
    producer.send((0, b"x"))
    sent = only(producer.heard()).batches[A0]
    assert before - 100 < sent.first_ms <= time.time() * 1000
    assert sent.last_ms == sent.first_ms


def test_a_batch_waits_for_more_until_it_has_lingered(make: Callable[..., Producer]) -> None:
    producer = make(linger_ns=200_000_000)
    producer.send((0, b"x"))
    begun = time.monotonic()
    assert producer.heard() == []
    producer.send((0, b"y"))
    assert producer.settled() == []
    asked = []
    while not asked:
        producer.settled()
        asked = producer.heard()
    assert time.monotonic() - begun >= 0.19
    assert only(asked).values == {A0: [b"x", b"y"]}


def test_a_full_batch_does_not_linger(make: Callable[..., Producer]) -> None:
    producer = make(linger_ns=3600 * SECOND_NS, batch_bytes=500)
    producer.send(*((0, bytes(100)) for _ in range(10)))
    counts = [len(r.values[A0]) for r in producer.heard()]
    assert counts == [4, 4], "of 500 bytes the header takes 61 and each message 109"
    producer = make(linger_ns=3600 * SECOND_NS, batch_messages=4)
    producer.send(*((0, b"x") for _ in range(10)))
    assert [len(r.values[A0]) for r in producer.heard()] == [4, 4]


@pytest.mark.parametrize(("room", "counts"), [(2 * 109, [2, 2]), (2 * 109 - 1, [1, 1, 1, 1])])
def test_a_batch_is_filled_to_the_last_byte(make: Callable[..., Producer], room: int, counts: list[int]) -> None:
    """A record of 100 bytes takes 109: its length 2, attributes, time, number and key 1 each, size 2, headers 1."""
    producer = make(linger_ns=3600 * SECOND_NS, batch_bytes=61 + room)
    producer.send(*((0, bytes(100)) for _ in range(5)))
    assert [len(r.values[A0]) for r in producer.heard()] == counts


def test_a_message_larger_than_a_batch_goes_alone(make: Callable[..., Producer]) -> None:
    producer = make()
    producer.send((0, b"x"), (0, bytes(50_000)), (0, b"y"))
    found = producer.heard()
    assert [len(v) for r in found for v in r.values[A0] if v is not None] == [1, 50_000, 1]


def test_no_more_requests_are_under_way_than_allowed(make: Callable[..., Producer]) -> None:
    producer = make(in_flight_most=2)
    for i in range(4):
        producer.send((0, b"%d" % i))
    first, second = producer.heard()
    assert [r.values for r in (first, second)] == [{A0: [b"0"]}, {A0: [b"1"]}]
    producer.say(first.answer())
    assert producer.settled() == [(0, 0)]
    assert only(producer.heard()).values == {A0: [b"2", b"3"]}, "what waits is sent together"


def test_a_request_is_no_larger_than_allowed(make: Callable[..., Producer]) -> None:
    producer = make(request_bytes=500)
    producer.send(*((lane, bytes(200)) for lane in range(4)))
    assert [sorted(r.batches) for r in producer.heard()] == [[A0], [A1], [B0], [B1]]


ANSWERED = [(i, 0) for i in range(40)]


@pytest.mark.parametrize("cuts", [[], [1], [4], [9], [30], list(range(1, 80))])
def test_an_answer_in_any_cut_is_understood(make: Callable[..., Producer], cuts: list[int]) -> None:
    producer = make()
    producer.send(*((i % 4, b"%d" % i) for i in range(40)))
    answer = only(producer.heard()).answer()
    found = []
    for a, b in pairwise([0, *cuts, len(answer)]):
        producer.say(answer[a:b])
        found += producer.settled()
    assert sorted(found) == ANSWERED


def test_however_few_are_taken_at_once_all_are_told(make: Callable[..., Producer]) -> None:
    producer = make()
    producer.send(*((i % 4, b"%d" % i) for i in range(40)))
    producer.say(only(producer.heard()).answer())
    found = []
    while more := producer.settled(most=7):
        assert len(more) <= 7
        found += more
    assert sorted(found) == ANSWERED


def test_what_the_socket_does_not_take_at_once_is_sent_later(make: Callable[..., Producer]) -> None:
    producer = make(batch_bytes=400_000, request_bytes=10**6)
    producer.connect(0, send_buffer=4096)
    values = [bytes([i]) * 30_000 for i in range(10)]
    producer.send(*((0, v) for v in values))
    asked: list[Request] = []
    while not asked:
        asked = producer.heard()
        assert producer.settled() == []
    assert only(asked).values == {A0: values}


@pytest.mark.parametrize("code", [NOT_LEADER, NOT_ENOUGH_REPLICAS])
def test_what_may_be_tried_again_is_sent_again_before_what_waits(make: Callable[..., Producer], code: int) -> None:
    producer = make(in_flight_most=1)
    producer.send((0, b"first"))
    producer.send((0, b"second"))
    producer.say(only(producer.heard()).answer({A0: code}))
    assert producer.settled() == []
    if code == NOT_LEADER:
        assert producer.error(0) == NOT_LEADER
        assert producer.needs_care()
        assert producer.heard() == [], "not before somebody says who leads"
        producer.lib.bl_produce_lead(producer.handle, 0, 0)
        producer.settled()
    assert not producer.needs_care()
    asked = only(producer.heard())
    assert asked.values == {A0: [b"first"]}
    producer.say(asked.answer())
    assert producer.settled() == [(0, 0)]
    assert only(producer.heard()).values == {A0: [b"second"]}


def test_it_is_tried_again_only_so_often(make: Callable[..., Producer]) -> None:
    producer = make(retries=2)
    producer.send((0, b"x"))
    for _ in range(2):
        producer.say(only(producer.heard()).answer({A0: NOT_ENOUGH_REPLICAS}))
        assert producer.settled() == []
    producer.say(only(producer.heard()).answer({A0: NOT_ENOUGH_REPLICAS}))
    assert producer.settled() == [(0, NOT_ENOUGH_REPLICAS)]


def test_it_is_not_tried_again_at_once(make: Callable[..., Producer]) -> None:
    producer = make(backoff_ns=200_000_000)
    producer.send((0, b"x"))
    producer.say(only(producer.heard()).answer({A0: NOT_ENOUGH_REPLICAS}))
    begun = time.monotonic()
    again: list[Request] = []
    while not again:
        producer.settled()
        again = producer.heard()
    assert time.monotonic() - begun >= 0.19


def test_a_lost_connection_loses_no_message_and_keeps_their_order(make: Callable[..., Producer]) -> None:
    producer = make(in_flight_most=2)
    for i in range(5):
        producer.send((i % 2, b"%d" % i))
    first, second = producer.heard()
    assert (first.values, second.values) == ({A0: [b"0"]}, {A1: [b"1"]})
    producer.say(first.answer())
    assert producer.settled() == [(0, 0)]
    producer.broker[0].close()
    assert producer.settled() == []
    assert not producer.is_up()
    assert producer.needs_care()
    producer.connect(0)
    order: dict[tuple[str, int], list[bytes | None]] = {A0: [], A1: []}
    found: list[tuple[int, int]] = []
    while len(found) < 4:
        found += producer.settled()
        for asked in producer.heard():
            for where, values in asked.values.items():
                order[where] += values
            producer.say(asked.answer())
    assert order == {A0: [b"2", b"4"], A1: [b"1", b"3"]}
    assert sorted(found) == [(i, 0) for i in range(1, 5)]


def test_a_message_half_sent_when_the_connection_broke_is_sent_whole_again(make: Callable[..., Producer]) -> None:
    producer = make(batch_bytes=400_000, request_bytes=10**6)
    producer.connect(0, send_buffer=4096)
    producer.send((0, bytes(300_000)))
    assert producer.broker[0].recv(100)
    producer.connect(0)
    asked: list[Request] = []
    while not asked:
        assert producer.settled() == []
        asked = producer.heard()
    assert only(asked).values == {A0: [bytes(300_000)]}


def test_without_retries_a_lost_connection_leaves_its_messages_unknown(make: Callable[..., Producer]) -> None:
    producer = make(retries=0)
    producer.send((0, b"x"), (1, b"y"))
    producer.broker[0].close()
    assert sorted(producer.settled()) == [(0, TRANSPORT), (1, TRANSPORT)]


def test_what_waits_for_too_long_is_given_up(make: Callable[..., Producer]) -> None:
    producer = make(message_timeout_ns=50_000_000)
    producer.lib.bl_produce_lead(producer.handle, 0, -1)
    producer.send((0, b"x"))
    found: list[tuple[int, int]] = []
    while not found:
        assert producer.needs_care()
        found = producer.settled()
    assert found == [(0, TIMED_OUT)]
    assert not producer.needs_care()


def test_a_broker_that_does_not_answer_loses_the_connection(make: Callable[..., Producer]) -> None:
    producer = make(request_timeout_ms=-950)  # a second is added
    producer.send((0, b"x"))
    while producer.is_up():
        assert producer.settled() == []
    assert "does not answer" in producer.why()


GOOD = response(1, [("a", [(0, 0)])])


NO_ANSWERS = {
    "of another request": response(2, [("a", [(0, 0)])]),
    "about another partition": response(1, [("a", [(1, 0)])]),
    "about another topic": response(1, [("stranger", [(0, 0)])]),
    "twice about one": response(1, [("a", [(0, 0), (0, 0)])]),
    "about nothing": response(1, []),
    "longer than it says": GOOD[:-1] + bytes([1, 0, 0, 0, 0]),
    "too short for a number": b"\0\0\0\3abc",
    "of two gigabytes": b"\x7f\xff\xff\xff" + GOOD[4:],
    "of negative size": b"\xff\xff\xff\xff" + GOOD[4:],
    "cut off within": b"\0\0\0\6" + GOOD[4:10],
    "of another protocol": b"HTTP/1.1 400 Bad Request",
}


@pytest.mark.parametrize("answer", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_an_answer_that_is_none_ends_the_connection_and_the_message_is_sent_again(
    make: Callable[..., Producer], answer: bytes
) -> None:
    producer = make()
    producer.send((0, b"x"))
    only(producer.heard())
    producer.say(answer)
    assert all(code == 0 for _, code in producer.settled())
    # A longer answer than there was looks right until its end: the next one cannot be understood then.
    if producer.is_up():
        producer.say(GOOD)
        producer.settled()
    assert not producer.is_up()
    assert "no produce response" in producer.why()


def test_an_answer_nobody_asked_for_ends_the_connection_at_the_next_request(make: Callable[..., Producer]) -> None:
    producer = make()
    producer.say(response(9, [("a", [(0, 0)])]))
    producer.send((0, b"x"))
    assert producer.settled() == []
    assert not producer.is_up()


@given(st.binary(max_size=200))
def test_no_answer_breaks_it(noise: bytes) -> None:
    producer = Producer()
    producer.send((0, b"x"), (3, b"y"))
    producer.say(noise)
    producer.settled()
    producer.close()


def test_partitions_follow_their_leaders_to_other_connections(make: Callable[..., Producer]) -> None:
    producer = make()
    producer.connect(1)
    producer.lib.bl_produce_lead(producer.handle, 3, 1)
    producer.send((0, b"x"), (3, b"y"))
    assert only(producer.heard(0)).values == {A0: [b"x"]}
    assert only(producer.heard(1)).values == {B1: [b"y"]}
    producer.broker[1].close()
    producer.settled()
    producer.lib.bl_produce_lead(producer.handle, 3, 0)
    producer.settled()
    assert only(producer.heard(0)).values == {B1: [b"y"]}


def test_flushing_waits_for_the_answers(make: Callable[..., Producer]) -> None:
    producer = make(linger_ns=3600 * SECOND_NS)
    producer.send((0, b"x"))
    producer.lib.bl_produce_flush(producer.handle, 0)
    asked = only(producer.heard())
    producer.say(asked.answer())
    producer.lib.bl_produce_flush(producer.handle, time.monotonic_ns() + 60 * SECOND_NS)
    assert producer.unsettled() == 0
    assert producer.settled() == [(0, 0)]
