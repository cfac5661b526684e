"""STOMP 1.2 frames as bytes: writing many at once, and reading whatever a socket gave.

Header values are kept as they stand on the wire, escapes included: those that are sent back (`ack`) need no decoding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, repeat

from brokerlab.brokers.kit.numbers import number_in_text
from brokerlab.model.blocks import Block

HEART_BEAT = b"\n"
_ESCAPES = {"\\": "\\\\", "\r": "\\r", "\n": "\\n", ":": "\\c"}
# Receipts come by the thousand and all look like this, so they are read by one expression.
_RECEIPTS = re.compile(rb"(?:[\r\n]*RECEIPT\nreceipt-id:\d{1,18}\n\n\0)+")
_RECEIPT = re.compile(rb"receipt-id:(\d+)\n")
_LENGTH = re.compile(rb"\ncontent-length:([^\r\n]*)")
_HEAD_END = re.compile(rb"\n\r?\n")  # begins with a literal, which is looked for at once
MOST_HEAD_BYTES = 1 << 20  # a longer head is no STOMP
MOST_BODY_BYTES = 1 << 27


@dataclass(frozen=True, slots=True)
class Frame:
    """`head` is everything before the empty line; see `header`."""

    command: bytes
    head: bytes
    body: bytes

    def header(self, name: bytes) -> bytes | None:
        """The first value of this name, still escaped."""
        found = _named(name).search(self.head)
        return found[1] if found else None


@lru_cache
def _named(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"\n" + re.escape(name) + rb":([^\r\n]*)")


def frame(command: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """One frame. CONNECT alone does not escape its values: a client of STOMP 1.0 could have sent it."""
    plain = command == "CONNECT"
    lines = (f"{name}:{value if plain else escaped(value)}\n" for name, value in headers.items())
    return f"{command}\n{''.join(lines)}\n".encode() + body + b"\0"


def escaped(text: str) -> str:
    return "".join(_ESCAPES.get(c, c) for c in text)


def acknowledgements(messages: Iterable[Frame]) -> bytes:
    """An ACK frame for each."""
    return b"".join(b"ACK\nid:%b\n\n\0" % (message.header(b"ack") or b"") for message in messages)


class SendEncoder:
    """SEND frames of whole blocks. A frame's receipt is the number given to it."""

    def __init__(self, destinations: Sequence[str], headers: Mapping[str, str]) -> None:
        self._destinations = destinations  # by the cell's partition numbers
        self._headers = headers
        self._heads: dict[tuple[int, int], bytes] = {}
        self.overhead_bytes = 30 + max(len(self._head(p, 0)) for p in range(len(destinations)))  # of each message

    def encode(self, block: Block, first_receipt: int) -> bytes:
        kinds = list(zip(block.partitions.tolist(), block.lengths.tolist(), strict=True))
        for kind in set(kinds) - self._heads.keys():
            self._heads[kind] = self._head(*kind)
        heads = map(self._heads.__getitem__, kinds)
        receipts = (b"%d\n\n" % number for number in range(first_receipt, first_receipt + len(block)))
        return b"".join(chain.from_iterable(zip(heads, receipts, block.payloads(), repeat(b"\0"), strict=False)))

    def _head(self, partition: int, length: int) -> bytes:
        """Up to the receipt's number."""
        own = {"destination": self._destinations[partition], "content-length": str(length)}
        return frame("SEND", {**own, **self._headers})[:-2] + b"receipt:"


class FrameReader:
    """Takes bytes as they come, cut anywhere."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> tuple[list[int], list[Frame]]:
        """What became whole with these bytes: numbers of receipts, and all other frames. Raises OSError for what is no
        STOMP."""
        data = self._rest + data if self._rest else data
        receipts: list[int] = []
        found: list[Frame] = []
        at = 0
        while True:
            run = _RECEIPTS.match(data, at)
            if run is not None:
                receipts += map(int, _RECEIPT.findall(run[0]))
                at = run.end()
            whole = _frame_at(data, at)
            if whole is None:
                break
            found.append(whole[0])
            at = whole[1]
        self._rest = data[at:]
        return receipts, found


def _frame_at(data: bytes, at: int) -> tuple[Frame, int] | None:
    """The frame that begins here, and where it ends; None when it has not come whole."""
    while data[at : at + 1] in (b"\n", b"\r"):  # heart-beats, and the ends of lines that may follow a frame
        at += 1
    empty_line = _HEAD_END.search(data, at)
    if empty_line is None:
        if len(data) - at > MOST_HEAD_BYTES:
            raise OSError("unreadable answer: this is not STOMP")
        return None
    head = data[at : empty_line.start()]
    length = _LENGTH.search(head)
    begin = empty_line.end()
    size = number_in_text(length[1]) if length else data.find(b"\0", begin) - begin
    if size > MOST_BODY_BYTES or (size < 0 and len(data) - begin > MOST_BODY_BYTES):
        raise OSError("unreadable frame: its body is too long")
    end = begin + size
    if size < 0 or end >= len(data):
        return None
    if data[end] != 0:
        raise OSError("unreadable frame: its body does not end where its length says")
    return Frame(head.partition(b"\n")[0].rstrip(b"\r"), head, data[begin:end]), end + 1
