"""Frames of the text protocol in which clients publish to subjects and subscribe to them: CONNECT, PUB, SUB, MSG.

Covered: INFO, MSG, HMSG, PING, PONG, +OK and -ERR from a server; PUB without headers to it. Not covered: HPUB, and what
headers say besides their status.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_LINE_BYTES = 1 << 16
MOST_PAYLOAD_BYTES = 1 << 27
PING, PONG = b"PING\r\n", b"PONG\r\n"
_MESSAGE = re.compile(rb"MSG ([^ ]+) (\d{1,9}) (?:([^ ]+) )?(\d{1,9})")
_WITH_HEADER = re.compile(rb"HMSG ([^ ]+) (\d{1,9}) (?:([^ ]+) )?(\d{1,9}) (\d{1,9})")
_PLAIN = re.compile(rb"(?i:(PING|PONG|\+OK)|(INFO|-ERR) (.*))", re.DOTALL)


class Delivered(NamedTuple):
    """A message that came for a subscription. `status` is empty unless a server sends it in place of a message."""

    subscription: int
    subject: bytes
    reply: bytes
    payload: bytes
    status: bytes = b""


class Said(NamedTuple):
    """What a server says about the connection: INFO, PING, PONG, +OK or -ERR."""

    word: bytes
    text: bytes


def publish(subject: bytes, payload: bytes, reply: bytes = b"") -> bytes:
    return b"PUB %b %b%d\r\n%b\r\n" % (subject, reply + b" " if reply else b"", len(payload), payload)


def subscribe(subject: bytes, number: int) -> bytes:
    return b"SUB %b %d\r\n" % (subject, number)


class SubjectFrameReader:
    """Takes bytes as they come, cut anywhere."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> tuple[list[Delivered], list[Said]]:
        """What became whole with these bytes. Raises OSError for what is not this protocol."""
        data = self._rest + data if self._rest else data
        messages: list[Delivered] = []
        said: list[Said] = []
        at = 0
        while (end := data.find(b"\r\n", at)) >= 0:
            line = data[at:end]
            found = _MESSAGE.fullmatch(line) or _WITH_HEADER.fullmatch(line)
            if found is None:
                said.append(_said(line))
                at = end + 2
                continue
            whole = _delivered(data, end + 2, found)
            if whole is None:
                break
            messages.append(whole[0])
            at = whole[1]
        if end < 0 and len(data) - at > MOST_LINE_BYTES:
            raise OSError("unreadable answer: a line without an end")
        self._rest = data[at:]
        return messages, said


def _said(line: bytes) -> Said:
    found = _PLAIN.fullmatch(line)
    if found is None:
        raise OSError("unreadable answer: a line of no known kind")
    return Said((found[1] or found[2]).upper(), found[3] or b"")


def _delivered(data: bytes, at: int, head: re.Match[bytes]) -> tuple[Delivered, int] | None:
    """The message behind its first line, and where it ends; None when it has not come whole."""
    sizes = [int(text) for text in head.groups()[3:]]
    header, total = (0, sizes[0]) if len(sizes) == 1 else sizes
    if total > MOST_PAYLOAD_BYTES or header > total:
        raise OSError("unreadable message: its sizes cannot be")
    end = at + total
    if len(data) < end + 2:
        return None
    if data[end : end + 2] != b"\r\n":
        raise OSError("unreadable message: it does not end where its size says")
    status = data[at : at + header].partition(b"\r\n")[0].partition(b" ")[2].strip()[:3]
    return Delivered(int(head[2]), head[1], head[3] or b"", data[at + header : end], status), end + 2
