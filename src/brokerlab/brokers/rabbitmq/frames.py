"""AMQP 0.9.1 frames of messages and confirms, many at once.

A frame: type (1 byte), channel (2), payload size (4), payload, 0xCE. A message is a method frame, a header frame with
its properties, and body frames.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.kit.rows import joined_rows
from brokerlab.model.blocks import Block, Bytes, Int64s

FRAME_OVERHEAD = 8
MOST_FRAME_BYTES = 1 << 20  # many times what is agreed on with a server
MOST_BODY_BYTES = 1 << 29  # RabbitMQ's own limit
METHOD, HEADER, BODY, END = 1, 2, 3, 0xCE
_CHANNEL = 1
_BASIC = 60
_PUBLISH, _ACK, _NACK = 40, 80, 120
_DELIVERY_MODE, _TIMESTAMP = 0x1000, 0x0040
_CONFIRM_BYTES = 21
_CONFIRM = np.dtype(
    [
        ("type", "u1"),
        ("channel", ">u2"),
        ("size", ">u4"),
        ("kind", ">u4"),
        ("tag", ">u8"),
        ("bits", "u1"),
        ("end", "u1"),
    ]
)  # of basic.ack and basic.nack
_CONFIRM_HEAD = struct.pack(">BHI", METHOD, _CHANNEL, 13)
_KIND_ACK, _KIND_NACK = (_BASIC << 16) | _ACK, (_BASIC << 16) | _NACK


def frame_bytes(buffer: bytearray | memoryview, at: int) -> int:
    """The size of the frame that begins here, whole; at least its first 7 bytes are there. Raises OSError where no
    server sends such a one."""
    size = int.from_bytes(buffer[at + 3 : at + 7])
    if size > MOST_FRAME_BYTES:
        raise OSError("unreadable frame: it is too long")
    return FRAME_OVERHEAD + size


class PublishEncoder:
    """Frames of persistent messages to an exchange and routing key by partition. A `mandatory` one comes back where no
    queue takes it.

    The property `timestamp` carries the message's number: RabbitMQ passes it through unread, and a message that comes
    back (basic.return) says by it which one it is.
    """

    def __init__(self, routes: list[tuple[str, str]], frame_max: int, mandatory: bool = True) -> None:
        self._methods = [_publish_method(exchange, key, mandatory) for exchange, key in routes]
        self._most = frame_max - FRAME_OVERHEAD
        same = len({len(m) for m in self._methods}) == 1
        self._table: Bytes | None = (
            np.frombuffer(b"".join(self._methods), np.uint8).reshape(len(routes), -1) if same else None
        )
        self.overhead_bytes = max(map(len, self._methods)) + len(_header_frame(0, 0)) + FRAME_OVERHEAD

    def encode(self, block: Block) -> bytes:
        """All frames of a block, in order."""
        rows = None if self._table is None else block.rows()
        if rows is None or rows.shape[1] > self._most:
            return self._encode_each(block)
        return self._encode_equal(block, rows)

    def _encode_equal(self, block: Block, payloads: Bytes) -> bytes:
        """One matrix of bytes, a row for each message."""
        assert self._table is not None
        n, size = payloads.shape
        numbers = np.arange(block.first_index, block.first_index + n, dtype=">u8").view(np.uint8).reshape(n, 8)
        header = _header_frame(size, 0)
        body = struct.pack(">BHI", BODY, _CHANNEL, size)
        return joined_rows(
            self._table[block.partitions], header[:-9], numbers, header[-1:] + body, payloads, bytes([END])
        )

    def _encode_each(self, block: Block) -> bytes:
        parts: list[bytes] = []
        partitions = block.partitions.tolist()
        for i, (payload, partition) in enumerate(zip(block.payloads(), partitions, strict=True)):
            parts += (self._methods[partition], _header_frame(len(payload), block.first_index + i))
            for at in range(0, len(payload), self._most):
                piece = payload[at : at + self._most]
                parts += (struct.pack(">BHI", BODY, _CHANNEL, len(piece)), piece, b"\xce")
        return b"".join(parts)


def _publish_method(exchange: str, key: str, mandatory: bool) -> bytes:
    names = b"".join(bytes([len(s.encode())]) + s.encode() for s in (exchange, key))
    payload = struct.pack(">HHH", _BASIC, _PUBLISH, 0) + names + bytes([mandatory])
    return struct.pack(">BHI", METHOD, _CHANNEL, len(payload)) + payload + b"\xce"


def _header_frame(size: int, number: int) -> bytes:
    payload = struct.pack(">HHQHBQ", _BASIC, 0, size, _DELIVERY_MODE | _TIMESTAMP, 2, number)
    return struct.pack(">BHI", HEADER, _CHANNEL, len(payload)) + payload + b"\xce"


@dataclass(frozen=True)
class Confirms:
    """Confirms in the order they came: tags, whether each stands for all before it, whether it is a refusal."""

    tags: Int64s
    multiple: npt.NDArray[np.bool_]
    refused: npt.NDArray[np.bool_]
    used_bytes: int


def read_confirms(view: memoryview) -> Confirms:
    """As many whole confirms as follow each other at the beginning of this."""
    count = len(view) // _CONFIRM_BYTES
    rows = np.frombuffer(view, _CONFIRM, count)
    kinds = rows["kind"]
    fits = (rows["type"] == METHOD) & (rows["size"] == 13) & ((kinds == _KIND_ACK) | (kinds == _KIND_NACK))
    good = count if bool(fits.all()) else int(np.argmin(fits))
    rows = rows[:good]
    bits = rows["bits"]
    return Confirms(
        rows["tag"].astype(np.int64), (bits & 1).astype(bool), rows["kind"] == _KIND_NACK, good * _CONFIRM_BYTES
    )


def ack_frames(tags: Int64s) -> bytes:
    """basic.ack for each tag."""
    rows = np.empty(len(tags), _CONFIRM)
    rows["type"], rows["channel"], rows["size"], rows["kind"] = METHOD, _CHANNEL, 13, _KIND_ACK
    rows["tag"], rows["bits"], rows["end"] = tags, 0, END
    return rows.tobytes()


def ack_up_to(tag: int) -> bytes:
    """basic.ack for this tag and all before it."""
    return _CONFIRM_HEAD + struct.pack(">IQBB", _KIND_ACK, tag, 1, END)
