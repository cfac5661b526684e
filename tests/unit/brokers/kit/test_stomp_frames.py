"""STOMP frames: what is written can be read, however the bytes are cut."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit.stomp_frames import MOST_HEAD_BYTES, Frame, FrameReader, SendEncoder, escaped, frame
from brokerlab.model.blocks import Block

# Bodies that try to be taken for something else.
BODIES = st.one_of(st.binary(max_size=60), st.just(b"\0\nRECEIPT\nreceipt-id:7\n\n\0"), st.just(b"\n\n\0\0"))
RECEIPTS = st.integers(0, 10**15).map(lambda n: (b"RECEIPT\nreceipt-id:%d\n\n\0" % n, n))
MESSAGES = BODIES.map(
    lambda body: (
        frame("MESSAGE", {"ack": "ID:a:1", "content-length": str(len(body)), "subscription": "0"}, body),
        (b"MESSAGE", b"ID\\ca\\c1", body),
    )
)
ERRORS = st.text(alphabet="abc\n:", max_size=30).map(
    lambda text: (frame("ERROR", {"message": "no"}, text.encode()), (b"ERROR", None, text.encode()))
)
ENDS = st.sampled_from([b"", b"\n", b"\r\n", b"\n\n\n"])  # of lines after a frame, and heart-beats


def read_in_pieces(data: bytes, cuts: list[int]) -> tuple[list[int], list[tuple[bytes, bytes | None, bytes]]]:
    reader = FrameReader()
    receipts: list[int] = []
    frames: list[Frame] = []
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for begin, end in pairwise(places):
        some_receipts, some_frames = reader.feed(data[begin:end])
        receipts += some_receipts
        frames += some_frames
    return receipts, [(f.command, f.header(b"ack"), f.body) for f in frames]


@given(
    st.lists(st.tuples(st.one_of(RECEIPTS, MESSAGES, ERRORS), ENDS), max_size=12), st.lists(st.integers(0), max_size=12)
)
def test_any_cut_of_the_stream_gives_the_same_frames(parts: list, cuts: list[int]) -> None:  # type: ignore[type-arg]
    data = b"".join(encoded + end for (encoded, _), end in parts)
    wanted = [meaning for (_, meaning), _ in parts]
    receipts, frames = read_in_pieces(data, cuts)
    assert receipts == [m for m in wanted if isinstance(m, int)]
    assert frames == [m for m in wanted if not isinstance(m, int)]


def test_a_stream_cut_at_every_byte_gives_the_same_frames() -> None:
    data = b"RECEIPT\nreceipt-id:1\n\n\0\n" * 3 + frame("MESSAGE", {"content-length": "2"}, b"\0\0") + b"\n"
    assert read_in_pieces(data, list(range(len(data)))) == read_in_pieces(data, [])


def test_a_receipt_whose_name_is_no_number_is_given_as_a_frame() -> None:
    receipts, (other,) = FrameReader().feed(frame("RECEIPT", {"receipt-id": "bye"}))
    assert receipts == []
    assert other.header(b"receipt-id") == b"bye"


@given(st.binary(max_size=300))
def test_garbage_is_waited_for_or_refused_and_nothing_else_happens(data: bytes) -> None:
    with suppress(OSError):
        FrameReader().feed(data)


def test_a_body_that_is_longer_than_it_says_is_refused() -> None:
    with pytest.raises(OSError, match="unreadable frame"):
        FrameReader().feed(b"MESSAGE\ncontent-length:1\n\nab\0")


def test_what_never_ends_its_head_is_not_kept_for_ever() -> None:
    with pytest.raises(OSError, match="not STOMP"):
        FrameReader().feed(b"x" * (MOST_HEAD_BYTES + 2))


def test_header_values_are_escaped_but_not_those_of_connect() -> None:
    assert escaped("a:b\\c\nd\r") == "a\\cb\\\\c\\nd\\r"
    assert frame("SEND", {"x": "a:b"}) == b"SEND\nx:a\\cb\n\n\0"
    assert frame("CONNECT", {"passcode": "a:b\\"}) == b"CONNECT\npasscode:a:b\\\n\n\0"


@given(
    st.lists(st.tuples(st.integers(0, 2), st.binary(min_size=1, max_size=50)), max_size=20),
    st.integers(1, 10**12),
    st.booleans(),
)
def test_a_block_becomes_one_send_frame_for_each_message(
    messages: list[tuple[int, bytes]], first: int, persistent: bool
) -> None:
    bodies = [body for _, body in messages]
    lengths = np.array([len(b) for b in bodies], np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)])[: len(bodies)].astype(np.int64)
    partitions = np.array([p for p, _ in messages], np.int32)
    block = Block(np.frombuffer(b"".join(bodies), np.uint8), offsets, lengths, partitions, 5)
    encoder = SendEncoder(["/topic/a:0", "/topic/b", "/topic/c"], {"persistent": "true"} if persistent else {})
    _, frames = FrameReader().feed(encoder.encode(block, first))
    assert [f.command for f in frames] == [b"SEND"] * len(messages)
    assert [f.body for f in frames] == bodies
    assert [f.header(b"destination") for f in frames] == [
        (rb"/topic/a\c0", b"/topic/b", b"/topic/c")[p] for p, _ in messages
    ]
    assert [int(f.header(b"receipt") or b"") for f in frames] == list(range(first, first + len(messages)))
    assert {f.header(b"persistent") for f in frames} <= {b"true" if persistent else None}


def test_lines_may_end_as_on_windows() -> None:
    data = b"MESSAGE\r\nack:7\r\ncontent-length:3\r\n\r\n\n\n\0\0\r\nERROR\r\nmessage:no\r\n\r\nwhy\0"
    assert read_in_pieces(data, list(range(len(data)))) == (
        [],
        [(b"MESSAGE", b"7", b"\n\n\0"), (b"ERROR", None, b"why")],
    )
