"""Frames of the protocol of subjects: read the same however the bytes are cut."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit.subject_frames import (
    MOST_LINE_BYTES,
    MOST_PAYLOAD_BYTES,
    Delivered,
    Said,
    SubjectFrameReader,
    publish,
    subscribe,
)

PAYLOADS = st.one_of(st.binary(max_size=60), st.just(b"\r\nMSG a 1 0\r\n\r\n"), st.just(b"\r\nPING\r\n"))
REPLIES = st.sampled_from([b"", b"_INBOX.a.1"])
Part = tuple[bytes, Delivered | Said]


def msg(sid: int, reply: bytes, payload: bytes) -> Part:
    head = b"MSG a.b %d %b%d\r\n" % (sid, reply + b" " if reply else b"", len(payload))
    return head + payload + b"\r\n", Delivered(sid, b"a.b", reply, payload)


def hmsg(sid: int, reply: bytes, payload: bytes) -> Part:
    header = b"NATS/1.0 503\r\n\r\n"
    sizes = b"%d %d" % (len(header), len(header) + len(payload))
    head = b"HMSG a.b %d %b%b\r\n" % (sid, reply + b" " if reply else b"", sizes)
    return head + header + payload + b"\r\n", Delivered(sid, b"a.b", reply, payload, b"503")


PARTS = st.one_of(
    st.builds(msg, st.integers(1, 99), REPLIES, PAYLOADS),
    st.builds(hmsg, st.integers(1, 99), REPLIES, PAYLOADS),
    st.sampled_from(
        [
            (b"PING\r\n", Said(b"PING", b"")),
            (b"PONG\r\n", Said(b"PONG", b"")),
            (b"+OK\r\n", Said(b"+OK", b"")),
            (b"-ERR 'no'\r\n", Said(b"-ERR", b"'no'")),
            (b'INFO {"a":1} \r\n', Said(b"INFO", b'{"a":1} ')),
        ]
    ),
)


def read_in_pieces(data: bytes, cuts: list[int]) -> tuple[list[Delivered], list[Said]]:
    reader = SubjectFrameReader()
    messages: list[Delivered] = []
    said: list[Said] = []
    for begin, end in pairwise([0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]):
        some_messages, some_said = reader.feed(data[begin:end])
        messages += some_messages
        said += some_said
    return messages, said


@given(st.lists(PARTS, max_size=8), st.lists(st.integers(0), max_size=12))
def test_any_cut_of_the_stream_gives_the_same_frames(parts: list[Part], cuts: list[int]) -> None:
    messages, said = read_in_pieces(b"".join(encoded for encoded, _ in parts), cuts)
    assert messages == [meaning for _, meaning in parts if isinstance(meaning, Delivered)]
    assert said == [meaning for _, meaning in parts if isinstance(meaning, Said)]


@given(
    st.lists(PARTS, min_size=1, max_size=4), st.integers(0), st.integers(0, 255), st.lists(st.integers(0), max_size=4)
)
def test_damage_never_raises_anything_else(parts: list[Part], where: int, value: int, cuts: list[int]) -> None:
    data = bytearray(b"".join(encoded for encoded, _ in parts))
    data[where % len(data)] = value
    with suppress(OSError):
        read_in_pieces(bytes(data), cuts)


@given(st.binary(max_size=120))
def test_noise_never_raises_anything_else(noise: bytes) -> None:
    with suppress(OSError):
        SubjectFrameReader().feed(noise)


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"MSG a 1 3\r\nabcd\r\n",
        b"MSG a 1 %d\r\n" % (MOST_PAYLOAD_BYTES + 1),
        b"HMSG a 1 9 5\r\nabcde\r\n",
        b"MSG a x 3\r\nabc\r\n",
        b"x" * (MOST_LINE_BYTES + 1),
    ],
)
def test_what_is_not_this_protocol_is_refused(data: bytes) -> None:
    with pytest.raises(OSError, match="unreadable"):
        SubjectFrameReader().feed(data)


def test_frames_to_a_server() -> None:
    assert publish(b"a.b", b"xy") == b"PUB a.b 2\r\nxy\r\n"
    assert publish(b"a.b", b"", b"in.1") == b"PUB a.b in.1 0\r\n\r\n"
    assert subscribe(b"a.*", 3) == b"SUB a.* 3\r\n"
