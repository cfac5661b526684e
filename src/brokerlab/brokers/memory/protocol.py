"""The wire protocol: frames of a type and columns, so that a thousand messages cost little more than one.

A frame is `length` (u32, of what follows the type), `type` (u8), body; all little-endian. A *partition number* counts
through the destinations the connection was opened with: destination index x partitions + partition within it.

    OPEN, CONTROL, REPLY   JSON object
    PUBLISH                i64 first index, i32 n, i32 lengths[n], i32 partitions[n], payloads
    SETTLED                SETTLED_RANGE[...]: numbers of the connection's own messages and what became of them
    CREDIT                 i32: how many more messages the client will take
    DELIVER                i32 runs, i32 n, DELIVERED_RUN[runs], i32 lengths[n], payloads
    ACKNOWLEDGE            POSITION_RANGE[...]
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

OPEN, PUBLISH, CREDIT, ACKNOWLEDGE, CONTROL = 1, 2, 3, 4, 5
SETTLED, DELIVER, REPLY = 16, 17, 18

FRAME = struct.Struct("<IB")
PUBLISH_HEAD = struct.Struct("<qi")
DELIVER_HEAD = struct.Struct("<ii")
COUNT = struct.Struct("<i")
LARGEST_FRAME = 256 << 20

SETTLED_RANGE = np.dtype([("first", "<i8"), ("last", "<i8"), ("outcome", "<i8")])
POSITION_RANGE = np.dtype([("partition", "<i8"), ("first", "<i8"), ("last", "<i8")])
DELIVERED_RUN = np.dtype([("partition", "<i4"), ("count", "<i4"), ("first", "<i8"), ("redelivered", "<i8")])


class ProtocolError(OSError):
    """The other side does not speak this protocol; the connection is of no use any more."""


def frame(kind: int, *parts: bytes | memoryview) -> bytes:
    """One frame, ready to be written."""
    return b"".join((FRAME.pack(sum(map(len, parts)), kind), *parts))


def json_frame(kind: int, value: dict[str, Any]) -> bytes:
    return frame(kind, json.dumps(value).encode())


def read_json(body: bytes) -> dict[str, Any]:
    value = json.loads(body)
    if not isinstance(value, dict):
        raise ProtocolError("expected a JSON object")
    return value


class FrameReader:
    """Bytes in, whole frames out."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> None:
        self._pending += data

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """The frames that are complete, each as (type, body)."""
        pending = self._pending
        at = 0
        while len(pending) - at >= FRAME.size:
            length, kind = FRAME.unpack_from(pending, at)
            if length > LARGEST_FRAME:
                raise ProtocolError(f"a frame of {length} bytes was announced")
            end = at + FRAME.size + length
            if len(pending) < end:
                break
            with memoryview(pending) as view:
                body = bytes(view[at + FRAME.size : end])
            at = end
            yield kind, body
        if at:
            del pending[:at]
