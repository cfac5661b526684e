"""Messages as streams keep them: chunks of entries, each an AMQP 1.0 message with one data section."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from brokerlab.brokers.kit.arrived import Arrived, readable
from brokerlab.model.blocks import Bytes, Int64s

_SECTION = b"\x00\x53\x75\xb0"  # an AMQP 1.0 data section whose size takes four bytes
_SHORT_SECTION = b"\x00\x53\x75\xa0"  # the same whose size takes one
MESSAGE_PREFIX_BYTES = 8
_HEADER = struct.Struct(">BBHIqQQIIII")
USER_CHUNK = 0


def message_prefix(size: int) -> bytes:
    """What stands before the bytes of a message: so any client of RabbitMQ's can read it."""
    return _SECTION + struct.pack(">I", size)


@dataclass(frozen=True)
class ChunkHead:
    """The fixed part of a chunk."""

    kind: int
    entries: int
    records: int
    first_position: int
    data_bytes: int


def read_head(content: bytes, at: int) -> ChunkHead:
    _, kind, entries, records, _, _, first, _, size, _, _ = _HEADER.unpack_from(content, at)
    return ChunkHead(kind, entries, records, first, size)


def read_chunk(content: bytes, at: int, arrived_mono_ns: int = 0) -> Arrived | None:
    """The messages of the chunk that begins at `at`; None for chunks that hold none of ours. Raises OSError."""
    head = read_head(content, at)
    begin = at + _HEADER.size
    if head.kind != USER_CHUNK or head.entries == 0:
        return None
    if head.entries != head.records or begin + head.data_bytes > len(content):
        raise OSError("unreadable chunk: entries that hold several messages, or part of it missing")
    buffer = readable(content)
    starts, sizes = _entries(content, buffer, begin, head)
    positions = np.arange(head.first_position, head.first_position + head.entries, dtype=np.int64)
    skip = _prefix_bytes(buffer, starts)
    again = np.zeros(head.entries, np.uint8)  # the stream protocol does not say
    if bool((starts + sizes > begin + head.data_bytes).any()) or bool((sizes < skip).any()):
        raise OSError("unreadable chunk: sizes of its entries contradict each other")
    lengths = (sizes - skip).astype(np.int32)
    return Arrived(buffer, starts + skip, lengths, positions, again, positions, arrived_mono_ns)


def _entries(content: bytes, buffer: Bytes, begin: int, head: ChunkHead) -> tuple[Int64s, Int64s]:
    """Where the entries' bytes begin, and their sizes."""
    n = head.entries
    (size,) = struct.unpack_from(">I", content, begin)
    if n * (4 + size) == head.data_bytes:
        rows = buffer[begin : begin + head.data_bytes].reshape(n, 4 + size)
        if bool((rows[:, :4] == rows[0, :4]).all()):
            return begin + 4 + np.arange(n, dtype=np.int64) * (4 + size), np.full(n, size, np.int64)
    starts, sizes = np.empty(n, np.int64), np.empty(n, np.int64)
    at = begin
    for i in range(n):
        (size,) = struct.unpack_from(">I", content, at)
        starts[i], sizes[i] = at + 4, size
        at += 4 + size
    return starts, sizes


def _prefix_bytes(buffer: Bytes, starts: Int64s) -> Int64s:
    """How many bytes of each entry belong to AMQP 1.0. Messages of other shapes are taken as they are."""
    heads = buffer[starts[:, None] + np.arange(4)]
    long = (heads == np.frombuffer(_SECTION, np.uint8)).all(axis=1)
    short = (heads == np.frombuffer(_SHORT_SECTION, np.uint8)).all(axis=1)
    return np.where(long, 8, np.where(short, 5, 0)).astype(np.int64)
