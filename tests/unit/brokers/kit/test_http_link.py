"""HTTP answers: read the same however the bytes are cut; what is damaged is said to be so, and nothing else happens."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit.http_link import (
    MOST_BODY_BYTES,
    MOST_HEAD_BYTES,
    AnswerReader,
    HttpAnswer,
    UnreadableAnswerError,
    http_request,
)

BODIES = st.one_of(st.binary(max_size=60), st.just(b"\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"))


def whole(status: int, body: bytes, more: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d Said so\r\nContent-Length: %d\r\n%b\r\n%b" % (status, len(body), more, body)


def chunked(status: int, body: bytes, size: int) -> bytes:
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    chunks = b"".join(b"%x;a=b\r\n%b\r\n" % (len(part), part) for part in parts)
    return b"HTTP/1.1 %d\r\nTransfer-Encoding: chunked\r\n\r\n%b0\r\nX-Trailer: 1\r\n\r\n" % (status, chunks)


STATUSES = st.sampled_from([200, 400, 403, 503])
ANSWERS = st.one_of(
    st.builds(lambda s, b: (whole(s, b), HttpAnswer(s, b, False)), STATUSES, BODIES),
    st.builds(lambda s, b: (whole(s, b, b"Connection: close\r\n"), HttpAnswer(s, b, True)), STATUSES, BODIES),
    st.builds(lambda s, b, n: (chunked(s, b, n), HttpAnswer(s, b, False)), STATUSES, BODIES, st.integers(1, 20)),
    st.just((b"HTTP/1.1 204 None\r\n\r\n", HttpAnswer(204, b"", False))),
    st.just((b"HTTP/1.1 100 Continue\r\n\r\n", None)),
)


def read_in_pieces(data: bytes, cuts: list[int]) -> list[HttpAnswer]:
    reader = AnswerReader()
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [answer for begin, end in pairwise(places) for answer in reader.feed(data[begin:end])]


@given(st.lists(ANSWERS, max_size=6), st.lists(st.integers(0), max_size=12))
def test_any_cut_of_the_stream_gives_the_same_answers(parts: list, cuts: list[int]) -> None:  # type: ignore[type-arg]
    data = b"".join(encoded for encoded, _ in parts)
    assert read_in_pieces(data, cuts) == [answer for _, answer in parts if answer is not None]


@given(ANSWERS)
def test_an_answer_cut_short_is_no_answer(part: tuple[bytes, HttpAnswer | None]) -> None:
    data, _ = part
    for end in range(len(data)):
        assert AnswerReader().feed(data[:end]) == []


@given(ANSWERS, st.integers(0), st.integers(0, 255), st.lists(st.integers(0), max_size=4))
def test_a_damaged_byte_never_raises_anything_else(
    part: tuple[bytes, HttpAnswer | None], where: int, value: int, cuts: list[int]
) -> None:
    data = bytearray(part[0])
    data[where % len(data)] = value
    with suppress(UnreadableAnswerError):
        for answer in read_in_pieces(bytes(data), cuts):
            assert len(answer.body) <= len(data)


@given(st.binary(max_size=200), st.lists(st.integers(0), max_size=4))
def test_noise_is_refused_or_waited_on(noise: bytes, cuts: list[int]) -> None:
    with suppress(UnreadableAnswerError):
        read_in_pieces(noise, cuts)
    with suppress(UnreadableAnswerError):
        read_in_pieces(b"HTTP/1.1 200 OK\r\n" + noise, cuts)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (MOST_BODY_BYTES + 1),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno field\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabXX0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * MOST_HEAD_BYTES,
    ],
)
def test_what_is_no_readable_answer_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableAnswerError):
        AnswerReader().feed(data)


def test_a_request_has_its_headers_and_its_length() -> None:
    assert http_request("POST", "/", {"host": "h:1"}, b"ab") == (
        b"POST / HTTP/1.1\r\nhost: h:1\r\ncontent-length: 2\r\n\r\nab"
    )
