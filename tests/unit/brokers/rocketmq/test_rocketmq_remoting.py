"""Frames of the remoting protocol, whole and damaged."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import struct
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_stub import answer, stored

from brokerlab.brokers.kit.asking import number_in
from brokerlab.brokers.rocketmq.remoting import (
    BATCH_OVERHEAD_BYTES,
    MOST_FRAME_BYTES,
    Answer,
    batch_body,
    request,
    stored_messages,
    take_answers,
)

FRAMES = answer(1, body=b"abc", offset=7) + answer(2, 12, remark="timed out") + answer(3)


def header_of(frame: bytes) -> tuple[dict[str, object], bytes]:
    total, size = struct.unpack_from(">II", frame)
    assert total == len(frame) - 4
    return json.loads(frame[8 : 8 + size]), frame[8 + size :]


def test_a_request_says_what_it_asks_and_carries_its_body() -> None:
    header, body = header_of(request(310, 5, {"b": "topic"}, b"\0\1payload"))
    assert (header["code"], header["opaque"], header["flag"]) == (310, 5, 0)
    assert header["extFields"] == {"b": "topic"}
    assert body == b"\0\1payload"


def test_with_a_login_the_values_in_the_order_of_their_names_and_the_body_are_signed() -> None:
    header, _ = header_of(request(310, 5, {"b": "topic", "a": "gröup"}, b"body", "mary", "säcret"))
    fields = header["extFields"]
    assert isinstance(fields, dict)
    assert fields["AccessKey"] == "mary"
    content = "marygröuptopicbody".encode()  # AccessKey, a, b: capitals come first
    expected = hmac.new("säcret".encode(), content, hashlib.sha1).digest()
    assert base64.b64decode(fields["Signature"]) == expected
    assert "säcret" not in str(header)


@given(st.lists(st.integers(0, len(FRAMES)), max_size=5))
def test_answers_are_the_same_wherever_the_stream_is_cut(cuts: list[int]) -> None:
    buffer, found = bytearray(), []
    places = [0, *sorted(cuts), len(FRAMES)]
    for first, end in pairwise(places):
        buffer += FRAMES[first:end]
        found += take_answers(buffer)
    assert [(a.number, a.code) for a in found] == [(1, 0), (2, 12), (3, 0)]
    assert (found[0].body, number_in(found[0].fields, "offset"), found[1].remark) == (b"abc", 7, "timed out")
    assert not buffer


def test_a_request_of_the_servers_is_not_taken_for_an_answer() -> None:
    buffer = bytearray(request(40, 1, {"consumerGroup": "g"}) + answer(1))
    assert [a.code for a in take_answers(buffer)] == [0]


@given(st.integers(0, len(FRAMES) - 1), st.integers(1, 255))
def test_a_damaged_byte_gives_answers_or_an_error_and_nothing_else(place: int, change: int) -> None:
    damaged = bytearray(FRAMES)
    damaged[place] ^= change
    try:
        found = take_answers(damaged)
    except OSError:
        return
    assert all(isinstance(a, Answer) for a in found)
    assert len(found) <= 3


@given(st.binary(max_size=200))
def test_any_bytes_give_answers_or_an_error(data: bytes) -> None:
    with suppress(OSError):
        assert all(isinstance(a, Answer) for a in take_answers(bytearray(data)))


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_any_header_gives_an_answer_or_an_error(header: object) -> None:
    raw = json.dumps(header).encode()
    with suppress(OSError):
        assert len(take_answers(bytearray(struct.pack(">II", 4 + len(raw), len(raw)) + raw))) <= 1


@pytest.mark.parametrize(
    "lengths",
    [
        (MOST_FRAME_BYTES + 1, 10),  # larger than RocketMQ makes them
        (3, 0),  # no room for the header's length
        (20, 17),  # a header that is longer than its frame
        (20, 1 << 24 | 10),  # a header that is not JSON
        (int.from_bytes(b"HTTP", "big"), int.from_bytes(b"/1.1", "big")),
    ],
)
def test_impossible_lengths_are_refused_before_anything_else_has_come(lengths: tuple[int, int]) -> None:
    with pytest.raises(OSError, match="not RocketMQ's remoting protocol"):
        take_answers(bytearray(struct.pack(">II", *lengths)))


def test_a_batch_has_every_message_with_its_size() -> None:
    body = batch_body([b"one", b"four", b"six"])
    at, found = 0, []
    while at < len(body):
        size, _, _, _, length = struct.unpack_from(">5i", body, at)
        assert size == BATCH_OVERHEAD_BYTES + length
        assert body[at + 20 + length : at + size] == b"\0\0", "no properties"
        found.append(body[at + 20 : at + 20 + length])
        at += size
    assert found == [b"one", b"four", b"six"]


def test_stored_messages_are_found_with_their_positions_behind_addresses_of_either_length() -> None:
    data = stored(b"first", 7) + stored(b"", 8, flags=1 << 4) + stored(b"third!", 9, flags=1 << 4 | 1 << 5)
    found = stored_messages(data, 5)
    bodies = [
        bytes(found.buffer[start : start + length])
        for start, length in zip(found.starts.tolist(), found.lengths.tolist(), strict=True)
    ]
    assert bodies == [b"first", b"", b"third!"]
    assert found.positions.tolist() == found.numbers.tolist() == [7, 8, 9]
    assert found.at_mono_ns == 5
    assert len(stored_messages(b"", 0)) == 0


STORED = stored(b"first", 7) + stored(b"second", 8)


@given(st.integers(1, len(STORED) - 1))
def test_messages_that_end_too_early_are_refused(length: int) -> None:
    if length == len(stored(b"first", 7)):
        assert len(stored_messages(STORED[:length], 0)) == 1
        return
    with pytest.raises(OSError, match="unreadable message"):
        stored_messages(STORED[:length], 0)


@given(st.integers(0, len(STORED) - 1), st.integers(1, 255))
def test_a_damaged_message_is_refused_or_lies_within_what_came(place: int, change: int) -> None:
    damaged = bytearray(STORED)
    damaged[place] ^= change
    try:
        found = stored_messages(bytes(damaged), 0)
    except OSError:
        return
    assert (found.starts >= 0).all()
    assert (found.lengths >= 0).all()
    assert (found.starts + found.lengths <= len(STORED)).all()


@given(st.binary(max_size=300))
def test_any_bytes_give_messages_or_an_error(data: bytes) -> None:
    try:
        found = stored_messages(data, 0)
    except OSError:
        return
    assert (found.starts + found.lengths <= len(data)).all()
