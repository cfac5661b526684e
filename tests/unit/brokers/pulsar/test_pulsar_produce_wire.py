"""The C side of a Pulsar producer: what is sent when, what becomes of it, and what happens when it breaks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulsar_frames import CLOSE_PRODUCER, PING, PONG, Producer, command, number, receipt, send_error

from brokerlab.native import library, why_not

pytestmark = pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")

LOST, TIMED_OUT, TOO_LARGE = -1, -2, -3
PERSISTENCE_ERROR, CHECKSUM_ERROR = 2, 9
SECOND_NS = 10**9


@pytest.fixture
def make() -> Iterator[Callable[..., Producer]]:
    made: list[Producer] = []

    def one(**settings: int) -> Producer:
        made.append(Producer(**settings))  # type: ignore[arg-type]
        return made[-1]

    yield one
    for producer in made:
        producer.close()


@given(
    st.lists(st.tuples(st.binary(max_size=300), st.integers(-(2**31), 2**31 - 1)), min_size=1, max_size=40),
    st.booleans(),
)
def test_a_batch_is_what_pulsar_documents(messages: list[tuple[bytes, int]], keyed: bool) -> None:
    producer = Producer(batch_bytes=100_000)
    before_ms = time.time() * 1000
    producer.send(*((2, value) for value, _ in messages), keys=[key for _, key in messages] if keyed else None)
    (sent,) = producer.heard()
    assert (sent.producer, sent.name, sent.is_batch) == (3, "p2", True)
    assert sent.messages == [value for value, _ in messages]
    assert sent.keys == [str(key) if keyed else "" for _, key in messages]
    assert before_ms - 100 < sent.publish_ms <= time.time() * 1000
    producer.close()


def test_without_batching_every_message_travels_alone_with_its_key(make: Callable[..., Producer]) -> None:
    producer = make(batching=0, batch_messages=1)
    producer.send((0, b"x"), (0, b"yy"), (1, b""), keys=[7, -8, 9])
    sent = producer.heard()
    assert not any(one.is_batch for one in sent)
    assert [(one.producer, one.messages, one.keys) for one in sorted(sent, key=lambda s: s.producer)] == [
        (1, [b"x"], ["7"]),
        (1, [b"yy"], ["-8"]),
        (2, [b""], ["9"]),
    ]


def test_receipts_acknowledge_the_batch_they_name(make: Callable[..., Producer]) -> None:
    producer = make()
    producer.send((0, b"a"), (1, b"b"), (0, b"c"))
    first, second = producer.heard()
    producer.ends.say(receipt(second))
    assert producer.settled() == [(1, 0)]
    producer.ends.say(receipt(first))
    assert producer.settled() == [(0, 0), (2, 0)]
    producer.send((0, b"d"))
    (third,) = producer.heard()
    assert third.sequence == 2, "sequences count messages"


def test_answers_may_come_in_any_cut_and_a_ping_between_them_is_answered(make: Callable[..., Producer]) -> None:
    producer = make()
    producer.send((0, b"a"))
    (sent,) = producer.heard()
    settled = []
    for byte in command(PING) + receipt(sent):
        producer.ends.say(bytes([byte]))
        settled += producer.settled()
    assert settled == [(0, 0)]
    producer.settled()
    assert [kind for kind, _, _ in producer.ends.heard()] == [PONG]


def test_what_was_read_before_the_connection_was_handed_over_counts(make: Callable[..., Producer]) -> None:
    producer = make(attached=False)
    producer.attach(range(4), read=command(PING)[:5])
    producer.ends.say(command(PING)[5:])
    time.sleep(0.011)  # an idle connection is looked at every 10 ms
    producer.settled()
    assert [kind for kind, _, _ in producer.ends.heard()] == [PONG]


def test_a_batch_waits_for_more_until_it_has_lingered(make: Callable[..., Producer]) -> None:
    producer = make(linger_ns=200_000_000)
    producer.send((0, b"x"))
    begun = time.monotonic()
    assert producer.heard() == []
    producer.send((0, b"y"))
    sent = []
    while not sent:
        sent = producer.heard()
    assert time.monotonic() - begun >= 0.19
    assert [one.messages for one in sent] == [[b"x", b"y"]]


def test_a_full_batch_does_not_linger(make: Callable[..., Producer]) -> None:
    producer = make(linger_ns=3600 * SECOND_NS, batch_bytes=500)
    producer.send(*((0, bytes(100)) for _ in range(10)))
    assert [len(one.messages) for one in producer.heard()] == [4, 4]
    producer = make(linger_ns=3600 * SECOND_NS, batch_messages=4)
    producer.send(*((0, b"x") for _ in range(10)))
    assert [len(one.messages) for one in producer.heard()] == [4, 4]


def test_a_message_longer_than_a_batch_goes_alone_and_one_longer_than_allowed_is_refused(
    make: Callable[..., Producer],
) -> None:
    producer = make()
    producer.send((0, b"x"), (0, bytes(3000)), (0, bytes(5001)), (0, b"y"))
    sent = producer.heard()
    assert [[len(m) for m in one.messages] for one in sent] == [[1], [3000], [1]]
    assert producer.settled_before == [(2, TOO_LARGE)]


def test_of_a_lost_connection_what_was_written_is_unknown_and_the_rest_waits(make: Callable[..., Producer]) -> None:
    producer = make(linger_ns=3600 * SECOND_NS, batch_messages=2)
    producer.send((0, b"a"), (0, b"b"), (0, b"c"))
    assert [one.messages for one in producer.heard()] == [[b"a", b"b"]]
    producer.ends.hang_up()
    assert producer.step()[0] == -1, "it asks for care"
    assert producer.down() == [0, 1, 2, 3]
    assert producer.settled() == [(0, LOST), (1, LOST)]
    assert producer.why() == "the broker closed the connection"
    producer.send((0, b"d"), (1, b"e"))
    assert producer.settled() == []
    assert producer.attach([0, 1, 2, 3], name="q")
    producer.send((1, b"f"))
    sent = producer.heard()
    assert sorted((one.name, one.messages) for one in sent) == [("q0", [b"c", b"d"]), ("q1", [b"e", b"f"])]
    producer.ends.say(b"".join(map(receipt, sent)))
    assert sorted(producer.settled()) == [(2, 0), (3, 0), (4, 0), (5, 0)]


def test_a_batch_that_is_half_written_when_the_connection_goes_is_unknown(make: Callable[..., Producer]) -> None:
    producer = make(batch_bytes=4_000_000, message_most=5_000_000)
    producer.send((0, bytes(4_000_000)), (1, bytes(3_000_000)))
    producer.settled()
    producer.ends.hang_up()
    codes = dict(producer.settled()) | dict(producer.settled())
    assert codes == {0: LOST}
    producer.attach(range(4))
    found = []
    while not found:
        found = producer.heard()
    assert [len(one.messages[0]) for one in found] == [3_000_000]


def test_a_refusal_names_its_batch_and_the_others_go_on(make: Callable[..., Producer]) -> None:
    producer = make(batch_messages=1)
    producer.send((0, b"a"), (0, b"b"))
    first, second = producer.heard()
    producer.ends.say(send_error(second, CHECKSUM_ERROR))
    assert producer.settled() == [(1, CHECKSUM_ERROR + 1)]
    producer.ends.say(receipt(first))
    assert producer.settled() == [(0, 0)]
    assert producer.down() == []


def test_after_an_error_that_may_pass_the_connection_is_made_again(make: Callable[..., Producer]) -> None:
    producer = make(batch_messages=1)
    producer.send((0, b"a"), (0, b"b"), (1, b"c"))
    first = producer.heard()[0]
    producer.ends.say(send_error(first, PERSISTENCE_ERROR))
    assert sorted(producer.settled()) == [(0, PERSISTENCE_ERROR + 1), (1, LOST), (2, LOST)]
    assert producer.down() == [0, 1, 2, 3]


def test_a_producer_that_the_broker_closes_leaves_the_others_alone(make: Callable[..., Producer]) -> None:
    producer = make()
    producer.send((0, b"a"), (1, b"b"))
    sent = producer.heard()
    producer.ends.say(command(CLOSE_PRODUCER, number(1, 1) + number(2, 99)))
    producer.ends.say(b"".join(map(receipt, sent)))
    assert sorted(producer.settled() + producer.settled()) == [(0, LOST), (1, 0)]
    assert producer.down() == [0]
    producer.send((0, b"c"))
    assert producer.heard() == []
    producer.attach([0])
    (again,) = producer.heard()
    assert again.messages == [b"c"]
    producer.ends.say(receipt(again))
    assert producer.settled() == [(2, 0)]


def test_a_message_without_an_answer_is_given_up_in_time_and_its_late_receipt_counts_for_nothing(
    make: Callable[..., Producer],
) -> None:
    producer = make(timeout_ns=50_000_000)
    producer.send((0, b"a"))
    (sent,) = producer.heard()
    found: list[tuple[int, int]] = []
    while not found:
        found = producer.settled()
    assert found == [(0, TIMED_OUT)]
    producer.ends.say(receipt(sent))
    producer.send((0, b"b"))
    (second,) = producer.heard()
    producer.ends.say(receipt(second))
    assert producer.settled_before + producer.settled() == [(1, 0)]
    assert producer.down() == []


def test_a_message_that_finds_no_connection_is_given_up_in_time(make: Callable[..., Producer]) -> None:
    producer = make(timeout_ns=50_000_000, attached=False)
    producer.send((0, b"a"), (1, b"b"))
    found: list[tuple[int, int]] = []
    while len(found) < 2:
        found += producer.settled()
    assert sorted(found) == [(0, TIMED_OUT), (1, TIMED_OUT)]


@pytest.mark.parametrize(
    "said",
    [
        b"\xff\xff\xff\xff\0\0\0\0",
        b"\0\0\0\x05\0\0\0\x09\0\0\0\0\0",
        command(7, b"\x08\x01\x10\x63"),  # a receipt with a number that was never given
        b"\0\0\0\x08\0\0\0\x04\x0f\x0f\x0f\x0f",
    ],
)
def test_what_no_broker_says_ends_the_connection(make: Callable[..., Producer], said: bytes) -> None:
    producer = make()
    producer.send((0, b"a"))
    producer.heard()
    producer.ends.say(said)
    assert (producer.settled() or producer.settled()) == [(0, LOST)]
    assert producer.down() == [0, 1, 2, 3]


def test_a_connection_no_lane_needs_is_not_adopted(make: Callable[..., Producer]) -> None:
    producer = make()
    assert not producer.attach([0, 1])
