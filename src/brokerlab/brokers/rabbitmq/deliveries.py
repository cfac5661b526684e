"""Reading basic.deliver with its header and body frames: one by one, or many of one shape at once."""

from __future__ import annotations

import struct
import time
from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.rabbitmq.frames import BODY, FRAME_OVERHEAD, HEADER, METHOD, frame_bytes
from brokerlab.model.blocks import Bytes, Deliveries, Int64s

_DELIVER = b"\x00\x3c\x00\x3c"  # class 60, method 60


@dataclass(frozen=True)
class Arrived:
    """Messages that came with one read: where their bytes lie, the tags to acknowledge them by."""

    buffer: Bytes
    offsets: Int64s
    lengths: npt.NDArray[np.int32]
    tags: Int64s
    redelivered: npt.NDArray[np.uint8]
    at_mono_ns: int

    def __len__(self) -> int:
        return len(self.tags)

    def split(self, most: int) -> tuple[Arrived, Arrived]:
        first, second = slice(None, most), slice(most, None)
        return self._part(first), self._part(second)

    def _part(self, part: slice) -> Arrived:
        return Arrived(
            self.buffer,
            self.offsets[part],
            self.lengths[part],
            self.tags[part],
            self.redelivered[part],
            self.at_mono_ns,
        )

    def deliveries(self, token: object) -> Deliveries:
        """RabbitMQ's queues know no positions."""
        return Deliveries(
            addresses=self.offsets.astype(np.uint64) + np.uint64(self.buffer.ctypes.data),
            lengths=self.lengths,
            arrived_mono_ns=self.at_mono_ns,
            positions=np.full(len(self), -1, np.int64),
            redelivered=self.redelivered,
            buffer=self.buffer,
            token=token,
        )


class DeliveryReader:
    """Appends what it reads to `arrived`. `last_tag` is the newest delivery tag seen."""

    def __init__(self, arrived: deque[Arrived]) -> None:
        self._arrived = arrived
        self.last_tag = 0

    def read(self, view: memoryview) -> tuple[int, bool]:
        """For AmqpLink.on_frames: whole messages at the beginning are taken."""
        at = 0
        part = False
        size = len(view)
        messages: list[tuple[int, int, int, int]] = []  # offset, length, tag, redelivered; of one copy of the bytes
        pieces: list[bytes] = []
        copied = 0
        while at + FRAME_OVERHEAD <= size and view[at] == METHOD and view[at + 7 : at + 11] == _DELIVER:
            found = _message(view, at)
            if found is None:
                part = True
                break
            body, tag, again, end = found
            messages.append((copied, len(body), tag, again))
            pieces.append(body)
            copied += len(body)
            at = end
        if messages:
            self._append(pieces, messages)
        return at, part

    def _append(self, pieces: list[bytes], messages: list[tuple[int, int, int, int]]) -> None:
        columns = np.array(messages, np.int64)
        # Eight bytes behind the last message let checksums read whole words.
        buffer = np.frombuffer(b"".join([*pieces, bytes(8)]), np.uint8)
        self.last_tag = int(columns[-1, 2])
        self._arrived.append(
            Arrived(
                buffer,
                columns[:, 0].copy(),
                columns[:, 1].astype(np.int32),
                columns[:, 2].copy(),
                columns[:, 3].astype(np.uint8),
                time.monotonic_ns(),
            )
        )


def _message(view: memoryview, at: int) -> tuple[bytes, int, int, int] | None:
    """Body, tag, redelivered and the place behind the message that begins here; None when it has not come whole."""
    size = len(view)
    header = at + frame_bytes(view, at)
    if header + 7 > size or header + frame_bytes(view, header) > size:
        return None
    if view[header] != HEADER:
        raise OSError("unreadable frame: a delivery without its header")
    tag, again = struct.unpack_from(">QB", view, at + 12 + view[at + 11])  # behind the consumer's tag
    left = int.from_bytes(view[header + 11 : header + 19])
    end = header + frame_bytes(view, header)
    body = b""
    while left > 0:
        if end + 7 > size or end + frame_bytes(view, end) > size:
            return None
        if view[end] != BODY:
            raise OSError("unreadable frame: a delivery without its body")
        begin, end = end + 7, end + frame_bytes(view, end)
        piece = bytes(view[begin : end - 1])
        body = piece if not body else body + piece
        left -= len(piece)
    return body, tag, again, end
