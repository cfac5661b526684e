"""Reading basic.deliver with its header and body frames: one by one, or many of one shape at once."""

from __future__ import annotations

import struct
import time
from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.kit.arrived import Arrived, readable, starts_of
from brokerlab.brokers.rabbitmq.frames import BODY, FRAME_OVERHEAD, HEADER, METHOD, MOST_BODY_BYTES, frame_bytes
from brokerlab.model.blocks import Int32s, Int64s

_DELIVER = b"\x00\x3c\x00\x3c"  # class 60, method 60
_FEW = 8  # so many messages of one shape are read one by one


class DeliveryReader:
    """Appends what it reads to `arrived`. `last_tag` is the newest delivery tag seen."""

    def __init__(self, arrived: deque[Arrived]) -> None:
        self._arrived = arrived
        self.last_tag = 0

    def read(self, view: memoryview) -> tuple[int, bool]:
        """For AmqpLink.on_frames: whole messages at the beginning are taken."""
        at, size = 0, len(view)
        singles: list[_Message] = []
        part = False
        while at + FRAME_OVERHEAD <= size and view[at] == METHOD and view[at + 7 : at + 11] == _DELIVER:
            found = _message(view, at)
            if found is None:
                part = True
                break
            # Where sizes are mixed, looking for a run at every message would cost more than reading it.
            alike = _alike(view, at, found) if found.one_frame and len(singles) % _FEW == 0 else None
            if alike is None:
                singles.append(found)
                at = found.end
                continue
            self._append_singles(view, singles)
            singles = []
            self._append(*alike)
            at += len(alike[1]) * (found.end - found.begin)
        self._append_singles(view, singles)
        return at, part

    def _append_singles(self, view: memoryview, messages: list[_Message]) -> None:
        if messages:
            bodies = [b"".join(bytes(view[b:e]) for b, e in m.pieces) for m in messages]
            lengths = np.fromiter(map(len, bodies), np.int32, len(bodies))
            tags = np.array([m.tag for m in messages], np.int64)
            again = np.array([m.redelivered for m in messages], np.uint8)
            self._append(b"".join(bodies), lengths, tags, again)

    def _append(self, bodies: bytes, lengths: Int32s, tags: Int64s, again: npt.NDArray[np.uint8]) -> None:
        self.last_tag = int(tags[-1])
        no_positions = np.full(len(tags), -1, np.int64)
        self._arrived.append(
            Arrived(readable(bodies), starts_of(lengths), lengths, no_positions, again, tags, time.monotonic_ns())
        )


@dataclass(frozen=True)
class _Message:
    """Where the parts of one delivery lie in what was read."""

    begin: int
    tag_at: int
    header: int
    pieces: list[tuple[int, int]]  # of the body
    end: int
    tag: int
    redelivered: int

    @property
    def one_frame(self) -> bool:
        return len(self.pieces) == 1


def _message(view: memoryview, at: int) -> _Message | None:
    """The message that begins here; None when it has not come whole."""
    size = len(view)
    header = at + frame_bytes(view, at)
    if header + 7 > size or header + frame_bytes(view, header) > size:
        return None
    if view[header] != HEADER:
        raise OSError("unreadable frame: a delivery without its header")
    left = int.from_bytes(view[header + 11 : header + 19])
    if left > MOST_BODY_BYTES:
        raise OSError("unreadable frame: a delivery that is too long")
    end = header + frame_bytes(view, header)
    pieces = []
    while left > 0:
        if end + 7 > size or end + frame_bytes(view, end) > size:
            return None
        if view[end] != BODY:
            raise OSError("unreadable frame: a delivery without its body")
        begin, end = end + 7, end + frame_bytes(view, end)
        pieces.append((begin, end - 1))
        left -= end - 1 - begin
    tag_at = at + 12 + view[at + 11]  # behind the consumer's tag
    tag, again = struct.unpack_from(">QB", view, tag_at)
    return _Message(at, tag_at, header, pieces, end, tag, again)


def _alike(view: memoryview, at: int, first: _Message) -> tuple[bytes, Int32s, Int64s, npt.NDArray[np.uint8]] | None:
    """The messages from here on that are built exactly like the first: bodies, lengths, tags, redelivered. None when
    they are few. Read as the rows of a matrix; wherever a size or a kind of frame stands, rows must agree."""
    width = first.end - at
    count = (len(view) - at) // width
    if count < _FEW:
        return None
    rows = np.frombuffer(view, np.uint8, count * width, at).reshape(count, width)
    tag, header = first.tag_at - at, first.header - at
    (begin, end) = (place - at for place in first.pieces[0])
    exchange = tag + 9
    key = exchange + 1 + int(rows[0, exchange])
    fixed = [*range(12), exchange, key, header - 1, *range(header, header + 21), *range(begin - 8, begin), width - 1]
    same = (rows[:, fixed] == rows[0, fixed]).all(axis=1)
    good = count if bool(same.all()) else int(np.argmin(same))
    if good < _FEW:
        return None
    rows = rows[:good]
    tags = np.ascontiguousarray(rows[:, tag : tag + 8]).view(">u8").reshape(good).astype(np.int64)
    lengths = np.full(good, end - begin, np.int32)
    return rows[:, begin:end].tobytes(), lengths, tags, rows[:, tag + 8].copy()
