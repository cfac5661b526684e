"""HTTP/1.1 for drivers that must not wait: answers read from bytes as they come, and connections kept open for them.

Covered: any method, bodies of known length and chunked ones, interim answers (1xx), `Connection: close`. Not covered:
redirects (an answer like any other), compression, trailers (read and forgotten), bodies that end with their connection.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from brokerlab.brokers.kit.link import CALL_S, Link

MOST_HEAD_BYTES = 1 << 16
MOST_BODY_BYTES = 1 << 26
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: [^\r\n]*)?")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*?)[ \t]*")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[^\r\n]*)?\r\n")


class UnreadableAnswerError(OSError):
    """What came is not HTTP. The connection is of no use any more."""


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    body: bytes
    closes: bool  # the server ends the connection behind it


def http_request(method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = (f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{method} {path} HTTP/1.1\r\n{''.join(lines)}content-length: {len(body)}\r\n\r\n".encode() + body


class AnswerReader:
    """Takes bytes as they come, cut anywhere."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[HttpAnswer]:
        """Answers that became whole with these bytes. Raises UnreadableAnswerError."""
        data = self._rest + data if self._rest else data
        found: list[HttpAnswer] = []
        at = 0
        while (whole := _answer_at(data, at)) is not None:
            answer, at = whole
            if answer.status >= 200:  # those below only say that one will come
                found.append(answer)
        self._rest = data[at:]
        return found


def _answer_at(data: bytes, at: int) -> tuple[HttpAnswer, int] | None:
    """The answer that begins here, and where it ends; None when it has not come whole."""
    end = data.find(b"\r\n\r\n", at)
    if end - at > MOST_HEAD_BYTES or (end < 0 and len(data) - at > MOST_HEAD_BYTES):
        raise UnreadableAnswerError("unreadable answer: its head is too long")
    if not b"HTTP/1."[: len(data) - at].startswith(data[at : at + 7]):
        raise UnreadableAnswerError("unreadable answer: this is not HTTP/1.1")
    if end < 0:
        return None
    first, *rest = data[at:end].split(b"\r\n")
    status_line = _STATUS_LINE.fullmatch(first)
    fields = [_FIELD.fullmatch(line) for line in rest]
    if status_line is None or None in fields:
        raise UnreadableAnswerError("unreadable answer: its head is damaged")
    headers = {f[1].lower(): f[2].lower() for f in fields if f is not None}
    status = int(status_line[2])
    body = _body_at(data, end + 4, status, headers)
    if body is None:
        return None
    closes = headers.get(b"connection") == b"close" or status_line[1] == b"0"
    return HttpAnswer(status, body[0], closes), body[1]


def _body_at(data: bytes, at: int, status: int, headers: dict[bytes, bytes]) -> tuple[bytes, int] | None:
    if status < 200 or status in (204, 304):
        return b"", at
    if b"transfer-encoding" in headers:
        if headers[b"transfer-encoding"] != b"chunked":
            raise UnreadableAnswerError("unreadable answer: only whole and chunked bodies are understood")
        return _chunks_at(data, at)
    length = headers.get(b"content-length", b"")
    if not length.isdigit() or len(length) > 9 or int(length) > MOST_BODY_BYTES:
        raise UnreadableAnswerError("unreadable answer: it does not say how long it is, or is too long")
    end = at + int(length)
    return (data[at:end], end) if len(data) >= end else None


def _chunks_at(data: bytes, at: int) -> tuple[bytes, int] | None:
    parts: list[bytes] = []
    while True:
        line = _CHUNK_SIZE.match(data, at)
        if line is None:
            if b"\r\n" in data[at : at + 256] or len(data) - at > 256:
                raise UnreadableAnswerError("unreadable answer: a chunk without its size")
            return None
        size, at = int(line[1], 16), line.end()
        if size == 0:
            end = at if data[at : at + 2] == b"\r\n" else data.find(b"\r\n\r\n", at) + 2
            if end - at > MOST_HEAD_BYTES or (end < at and len(data) - at > MOST_HEAD_BYTES):
                raise UnreadableAnswerError("unreadable answer: its trailers are too long")
            return (b"".join(parts), end + 2) if end >= at and len(data) >= end + 2 else None
        if size + sum(map(len, parts)) > MOST_BODY_BYTES:
            raise UnreadableAnswerError("unreadable answer: it is too long")
        if len(data) < at + size + 2:
            return None
        if data[at + size : at + size + 2] != b"\r\n":
            raise UnreadableAnswerError("unreadable answer: a chunk does not end where its size says")
        parts.append(data[at : at + size])
        at += size + 2


class HttpLink(Link):
    """See kit.link.Link: requests are written, answers collected in `answers`, in the order of the requests."""

    listener = "the HTTP port"

    def _handshake(self, name: str, user: str, password: str, until: float) -> None:  # noqa: ARG002 - HTTP has none
        self.answers: deque[HttpAnswer] = deque()
        self._reader = AnswerReader()

    def _take_frames(self) -> None:
        self.answers += self._reader.feed(bytes(self._buffer))
        self._buffer.clear()

    def call(self, request: bytes, seconds: float = CALL_S) -> HttpAnswer:
        """Write a request, and wait for its answer. Raises OSError."""
        self.write(request)
        until = time.monotonic() + seconds
        while not self.answers:
            self._read_or_wait(until, "answer")
        return self.answers.popleft()
