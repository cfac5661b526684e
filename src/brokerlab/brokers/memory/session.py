"""One client's connection as the server sees it, and how its messages are cut and joined."""

from __future__ import annotations

import selectors
import socket
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from brokerlab.brokers.memory import protocol
from brokerlab.brokers.memory.log import Cursor, Partition
from brokerlab.brokers.memory.protocol import FrameReader, ProtocolError, frame
from brokerlab.model.blocks import Int32s

FRAME_MESSAGES, FRAME_BYTES = 2048, 256 << 10  # small enough that the first message of a frame does not wait long


@dataclass(frozen=True)
class Batch:
    """Messages of one PUBLISH frame; their bytes follow each other in `data`."""

    first_index: int
    lengths: Int32s
    partitions: Int32s
    data: bytes | memoryview


class Session:
    """State of one connection. `ready` holds the cursors it owns that may have messages for it."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.reader = FrameReader()
        self.watched = selectors.EVENT_READ
        self.closed = False
        self.partitions: list[Partition[Session]] = []
        self.cursors: list[Cursor[Session]] = []
        self.number_of: dict[Cursor[Session], int] = {}
        self.ready: dict[Cursor[Session], None] = {}
        self.credit = 0
        self._out = bytearray()
        self._settled: list[tuple[int, int, int]] = []

    def write(self, data: bytes) -> None:
        self._out += data

    def settle(self, first: int, last: int, outcome: int) -> None:
        """Tell the client what became of its messages first..last, with the next flush."""
        if self.closed:
            return
        known = self._settled
        if known and known[-1][2] == outcome and known[-1][1] == first - 1:
            known[-1] = (known[-1][0], last, outcome)
        else:
            known.append((first, last, outcome))

    def unsent_bytes(self) -> int:
        return len(self._out)

    def has_output(self) -> bool:
        return bool(self._out or self._settled)

    def flush(self) -> None:
        """Write what the socket takes now."""
        if self._settled:
            self._out += frame(protocol.SETTLED, np.array(self._settled, protocol.SETTLED_RANGE).tobytes())
            self._settled.clear()
        if not self._out:
            return
        try:
            sent = self.socket.send(self._out)
        except BlockingIOError:
            return
        del self._out[:sent]


def decode_publish(body: bytes) -> Batch:
    first, n = protocol.PUBLISH_HEAD.unpack_from(body)
    at = protocol.PUBLISH_HEAD.size
    lengths = np.frombuffer(body, "<i4", n, at)
    partitions = np.frombuffer(body, "<i4", n, at + 4 * n)
    data = memoryview(body)[at + 8 * n :]
    if n and (int(lengths.min()) < 0 or int(lengths.sum(dtype=np.int64)) != len(data)):
        raise ProtocolError("lengths and payload bytes do not agree")
    return Batch(first, lengths, partitions, data)


def split_by_partition(batch: Batch) -> list[tuple[int, Int32s, bytes]]:
    """(partition, lengths, bytes) with the order of messages kept within each partition."""
    partitions, lengths = batch.partitions, batch.lengths
    n = len(lengths)
    if n == 0:
        return []
    if bool((partitions == partitions[0]).all()):
        return [(int(partitions[0]), lengths, bytes(batch.data))]
    order = np.argsort(partitions, kind="stable")
    grouped = partitions[order]
    edges = [0, *(np.flatnonzero(np.diff(grouped)) + 1).tolist(), n]
    size = int(lengths[0])
    parts: list[tuple[int, Int32s, bytes]] = []
    if size and bool((lengths == size).all()):
        rows = np.frombuffer(batch.data, np.uint8).reshape(n, size)
        for a, b in pairwise(edges):
            parts.append((int(grouped[a]), lengths[a:b], rows[order[a:b]].tobytes()))
        return parts
    ends = np.cumsum(lengths, dtype=np.int64)
    starts = ends - lengths
    for a, b in pairwise(edges):
        chosen = order[a:b]
        pieces = [batch.data[s:e] for s, e in zip(starts[chosen].tolist(), ends[chosen].tolist(), strict=True)]
        parts.append((int(grouped[a]), lengths[chosen], b"".join(pieces)))
    return parts


def deliver_frame(session: Session) -> tuple[int, bytes]:
    """Take what may be sent to the session now, as one frame of bounded size: (messages, frame)."""
    runs: list[tuple[int, int, int, int]] = []
    lengths: list[Int32s] = []
    pieces: list[memoryview] = []
    count = size = 0
    most = min(session.credit, FRAME_MESSAGES)
    for cursor in list(session.ready):
        while cursor.owner is session and cursor.available() and count < most and size < FRAME_BYTES:
            first, some, data, again = cursor.take(session, most - count, FRAME_BYTES - size)
            runs.append((session.number_of[cursor], len(some), first, int(again)))
            lengths.append(some)
            pieces.append(data)
            count += len(some)
            size += len(data)
        if count >= most or size >= FRAME_BYTES:
            # To the back of the queue, so that one busy partition does not starve the others.
            session.ready.pop(cursor)
            session.ready[cursor] = None
            break
        session.ready.pop(cursor)
    if count == 0:
        return 0, b""
    columns = np.concatenate(lengths).astype("<i4", copy=False).tobytes()
    head = protocol.DELIVER_HEAD.pack(len(runs), count) + np.array(runs, protocol.DELIVERED_RUN).tobytes()
    return count, frame(protocol.DELIVER, head, columns, *pieces)
