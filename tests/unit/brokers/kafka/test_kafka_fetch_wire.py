"""The C side of Kafka's Fetch protocol: responses in any cut, what is asked next, and what happens when it breaks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka_fetch_frames import Fetcher, Message, Request, response
from kafka_frames import Record, batch, plain

from brokerlab.native import library, why_not

pytestmark = pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")

CARE, DAMAGED, UNSUPPORTED = -1, -2, -3
NOT_LEADER, OUT_OF_RANGE = 6, 1


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    made = Fetcher()
    yield made
    made.close()


def test_a_request_names_every_partition_and_its_offset() -> None:
    fetcher = Fetcher({0: 5, 1: 0, 3: 2**40})
    assert fetcher.receive() == []
    assert fetcher.heard() == [Request(1, {("a", 0): 5, ("a", 1): 0, ("b", 1): 2**40})]
    assert fetcher.receive() == []
    assert fetcher.heard() == [], "one at a time"
    fetcher.close()


MANY = response(
    1,
    [
        ("a", [(0, 0, plain(0, b"a0", b"", b"a2") + plain(3, b"a3" * 50)), (1, 0, b"")]),
        ("b", [(1, 0, plain(10, b"b10") + plain(11, b"cut off by the broker")[:70])]),
        ("stranger", [(0, 0, plain(0, b"never asked for"))]),
        ("b", [(0, NOT_LEADER, b""), (7, 0, plain(0, b"no such partition"))]),
    ],
)
MESSAGES: list[Message] = [(0, b"a0"), (1, b""), (2, b"a2"), (3, b"a3" * 50), (10, b"b10")]
NEXT = {("a", 0): 4, ("a", 1): 0, ("b", 1): 11}


def receive_in_pieces(cuts: list[int], most: int = 4096) -> tuple[list[Message], Fetcher]:
    fetcher = Fetcher({0: 0, 1: 0, 2: 0, 3: 10})
    fetcher.receive()
    assert len(fetcher.heard()) == 1
    found = []
    for a, b in pairwise([0, *cuts, len(MANY)]):
        fetcher.say(MANY[a:b])
        found += fetcher.receive_all(most)
    return found, fetcher


def test_a_response_cut_at_every_byte_gives_the_same_messages() -> None:
    for cuts in ([], *([cut] for cut in range(1, len(MANY))), list(range(1, len(MANY)))):
        found, fetcher = receive_in_pieces(cuts)
        assert found == MESSAGES, cuts
        assert fetcher.heard() == [Request(2, NEXT)], cuts
        assert fetcher.error(2) == NOT_LEADER
        assert [fetcher.position(lane) for lane in range(4)] == [4, -1, -1, 11]
        fetcher.close()


@pytest.mark.parametrize("most", [1, 2, 3])
def test_however_few_are_taken_at_once_all_come(most: int) -> None:
    found, fetcher = receive_in_pieces([], most)
    assert found == MESSAGES
    fetcher.close()


def test_the_next_request_is_on_its_way_before_the_messages_are_taken(fetcher: Fetcher) -> None:
    fetcher.receive()
    fetcher.heard()
    fetcher.say(response(1, [("a", [(0, 0, plain(0, b"x", b"y", b"z"))])]))
    assert fetcher.receive(most=1) == [(0, b"x")]
    assert fetcher.position(0) == 1
    assert fetcher.heard() == [Request(2, {("a", 0): 3})]
    assert fetcher.receive_all() == [(1, b"y"), (2, b"z")]


def test_a_batch_is_handed_out_while_the_rest_of_the_response_is_still_to_come(fetcher: Fetcher) -> None:
    fetcher.receive()
    first, second = plain(0, b"early"), plain(1, b"late" * 1000)
    whole = response(1, [("a", [(0, 0, first + second)])])
    fetcher.say(whole[: -len(second) + 100])
    assert fetcher.receive() == [(0, b"early")]
    early = int(fetcher.about[0])
    fetcher.say(whole[-len(second) + 100 :])
    assert fetcher.receive() == [(1, b"late" * 1000)]
    assert int(fetcher.about[0]) > early, "each has the time at which its last byte was read"


def test_a_fetch_that_begins_within_a_batch_gives_only_what_was_wanted() -> None:
    fetcher = Fetcher({0: 2})
    fetcher.receive()
    fetcher.say(response(1, [("a", [(0, 0, plain(0, b"0", b"1", b"2", b"3"))])]))
    assert fetcher.receive_all() == [(2, b"2"), (3, b"3")]
    fetcher.close()


def test_a_batch_larger_than_any_buffer_arrives() -> None:
    value = bytes(range(256)) * 8000
    whole = response(1, [("a", [(0, 0, batch_without_sum(value))])])
    fetcher = Fetcher(check_crc=False)
    fetcher.receive()
    got: list[Message] = []
    for at in range(0, len(whole), 100_000):
        fetcher.say(whole[at : at + 100_000])
        got += fetcher.receive_all()
    assert got == [(0, value)]
    fetcher.close()


def batch_without_sum(value: bytes) -> bytes:
    """Summing megabytes bit by bit in Python takes too long: one message whose checksum nobody looks at."""
    small = bytearray(batch(0, [Record(b"")]))
    record = Record(value).encoded(0)
    small[8:12] = (61 - 12 + len(record)).to_bytes(4, "big")
    return bytes(small[:61]) + record


def test_an_error_of_a_partition_is_told_and_the_others_go_on() -> None:
    fetcher = Fetcher({0: 4, 1: 0})
    fetcher.receive()
    fetcher.heard()
    fetcher.say(response(1, [("a", [(0, OUT_OF_RANGE, b""), (1, 0, plain(0, b"fine"))])]))
    assert fetcher.receive() == [(0, b"fine")]
    assert fetcher.about[1] == 1
    assert fetcher.error(0) == OUT_OF_RANGE
    assert fetcher.heard() == [Request(2, {("a", 1): 1})]
    fetcher.lib.bl_fetch_seek(fetcher.handle, 0, 100)
    assert fetcher.receive() == []
    assert fetcher.code == 0
    fetcher.say(response(2, [("a", [(1, 0, b"")])]))
    assert fetcher.receive() == []
    assert fetcher.heard() == [Request(3, {("a", 0): 100, ("a", 1): 1})]
    fetcher.close()


def test_a_lost_connection_gives_what_came_whole_and_asks_for_the_rest_again(fetcher: Fetcher) -> None:
    fetcher.receive()
    fetcher.say(response(1, [("a", [(0, 0, plain(0, b"x") + plain(1, b"y"))])])[:-5])
    fetcher.broker[0].close()
    assert fetcher.receive_all() == [(0, b"x")]
    assert fetcher.code == CARE
    assert not fetcher.is_up()
    fetcher.connect(0)
    assert fetcher.receive() == []
    assert [r.offsets for r in fetcher.heard()] == [{("a", 0): 1}]


def test_a_partition_that_moves_is_read_on_without_gap_or_double() -> None:
    fetcher = Fetcher({0: 0})
    fetcher.receive()
    fetcher.say(response(1, [("a", [(0, 0, plain(0, b"0") + plain(1, b"1", b"2"))])]))
    assert fetcher.receive(most=2) == [(0, b"0"), (1, b"1")]
    fetcher.connect(1)
    fetcher.lib.bl_fetch_lead(fetcher.handle, 0, 1)
    assert fetcher.receive_all() == [(2, b"2")]
    (asked,) = fetcher.heard(1)
    assert asked.offsets[("a", 0)] in (2, 3)
    fetcher.say(response(asked.correlation, [("a", [(0, 0, plain(1, b"1", b"2") + plain(3, b"3"))])]), 1)
    assert fetcher.receive_all() == [(3, b"3")]
    fetcher.heard(0)
    fetcher.say(response(2, [("a", [(0, 0, plain(3, b"3") + plain(4, b"4"))])]))
    assert fetcher.receive_all() == [], "who does not lead any more does not count"
    fetcher.close()


def test_nothing_and_a_deadline_is_nothing_and_broken_is_said(fetcher: Fetcher) -> None:
    assert fetcher.receive(wait_s=0.02) == []
    assert fetcher.code == 0
    fetcher.lib.bl_fetch_lead(fetcher.handle, 0, -1)
    assert fetcher.receive(wait_s=60) == [], "it does not wait that long before it is mended"
    assert fetcher.code == CARE


def test_a_damaged_batch_is_fetched_again_and_three_times_damaged_is_the_end(fetcher: Fetcher) -> None:
    bad = bytearray(plain(0, b"good") + plain(1, b"damaged"))
    bad[-3] ^= 1
    for attempt in range(3):
        fetcher.receive()
        (asked,) = fetcher.heard()
        assert asked.offsets == {("a", 0): min(attempt, 1)}
        fetcher.say(response(asked.correlation, [("a", [(0, 0, bytes(bad))])]))
        assert fetcher.receive() == ([(0, b"good")] if attempt == 0 else [])
        fetcher.receive()
        assert not fetcher.is_up()
        fetcher.connect(0)
    assert fetcher.receive() == []
    assert fetcher.code == DAMAGED
    assert fetcher.why() == "the batch of a [0] at offset 1 is damaged"


def test_a_batch_it_cannot_read_is_said_after_what_it_can(fetcher: Fetcher) -> None:
    fetcher.receive()
    fetcher.say(response(1, [("a", [(0, 0, plain(0, b"x") + batch(1, [Record(b"?")], attributes=4))])]))
    assert fetcher.receive() == [(0, b"x")]
    assert fetcher.receive() == []
    assert fetcher.code == UNSUPPORTED
    assert fetcher.position(0) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        response(99, []),
        response(1, [], error=35),
        response(1, [("a", [])])[:-4] + b"\x7f\xff\xff\xff",
        response(1, []) + b"more than was asked for",
        b"\0\0\0\0" * 5,
        b"\xff" * 40,
    ],
)
def test_what_is_no_answer_to_our_question_ends_the_connection(fetcher: Fetcher, answer: bytes) -> None:
    fetcher.receive()
    fetcher.say(answer)
    assert fetcher.receive() == []
    assert fetcher.code == CARE
    assert not fetcher.is_up()
    assert fetcher.why()


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, len(MANY) - 1), st.integers(0, 255)), min_size=1, max_size=6),
    st.integers(1, len(MANY) - 1),
)
def test_a_response_with_any_bytes_changed_gives_nothing_that_was_not_sent(
    changes: list[tuple[int, int]], cut: int
) -> None:
    mutated = bytearray(MANY)
    for at, byte in changes:
        mutated[at] = byte
    fetcher = Fetcher({0: 0, 1: 0, 2: 0, 3: 10})
    fetcher.receive()
    for piece in (mutated[:cut], mutated[cut:]):
        if fetcher.is_up():
            fetcher.say(bytes(piece))
        found = fetcher.receive_all()
        known = {value for _, value in MESSAGES} | {b"never asked for", b"no such partition", b"cut off by the broker"}
        assert {value for _, value in found} <= known  # offsets stand outside the checksum
    fetcher.close()
