"""Produce requests and responses as Kafka encodes them, written down independently of the C code; and a C producer on
one end of socket pairs with a test on the other."""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from kafka_frames import ReadBatch, Reader, read_batch

from brokerlab.native.loader import address, library

MOST = 4096
DEFAULTS = {
    "acks": -1, "linger_ns": 0, "batch_bytes": 1000, "batch_messages": 100, "in_flight_most": 5,
    "request_bytes": 100_000, "request_timeout_ms": 30_000, "message_timeout_ns": 60 * 10**9, "retries": 1000,
    "backoff_ns": 0,
}  # fmt: skip


def response(correlation: int, topics: Sequence[tuple[str, Sequence[tuple[int, int]]]]) -> bytes:
    """Each partition with its error code."""
    body = struct.pack(">ii", correlation, len(topics))
    for name, partitions in topics:
        body += struct.pack(">h", len(name)) + name.encode() + struct.pack(">i", len(partitions))
        for number, code in partitions:
            body += struct.pack(">ihqqq", number, code, 1000, -1, 0)
    body += struct.pack(">i", 0)
    return struct.pack(">i", len(body)) + body


@dataclass(frozen=True)
class Request:
    correlation: int
    batches: dict[tuple[str, int], ReadBatch] = field(default_factory=dict)

    @property
    def values(self) -> dict[tuple[str, int], list[bytes | None]]:
        return {where: [r.value for r in batch.records] for where, batch in self.batches.items()}

    def answer(self, codes: dict[tuple[str, int], int] | None = None) -> bytes:
        by_topic: dict[str, list[tuple[int, int]]] = {}
        for topic, number in self.batches:
            by_topic.setdefault(topic, []).append((number, (codes or {}).get((topic, number), 0)))
        return response(self.correlation, list(by_topic.items()))


def requests(data: bytes, acks: int = -1) -> tuple[list[Request], bytes]:
    """What a client asked, every field of the form checked, and the bytes of one that is not whole yet."""
    found = []
    while len(data) >= 4 and len(data) >= 4 + (size := struct.unpack(">i", data[:4])[0]):
        reader = Reader(data[4 : 4 + size])
        key, version, correlation = reader.take(">hhi")
        assert (key, version, reader.text()) == (0, 7, "tester")
        assert reader.take(">hhi") == (-1, acks, 30_000)  # no transaction, how many replicas, so long
        batches: dict[tuple[str, int], ReadBatch] = {}
        topics = []
        for _ in range(reader.take(">i")[0]):
            topics.append(reader.text())
            for _ in range(reader.take(">i")[0]):
                number, length = reader.take(">ii")
                batches[topics[-1], number] = read_batch(reader.data[:length])
                reader.data = reader.data[length:]
        assert not reader.data
        assert len(set(topics)) == len(topics)
        found.append(Request(correlation, batches))
        data = data[4 + size :]
    return found, data


class Producer:
    """Topics "a" and "b" with two partitions each, so lanes 0 to 3, all led over connection 0."""

    def __init__(self, **settings: int) -> None:
        lib = library()
        assert lib is not None
        self.lib = lib
        topics = (ctypes.c_char_p * 2)(b"a", b"b")
        values = np.array(list({**DEFAULTS, **settings}.values()), np.int64)
        self.acks = int(values[0])
        self.handle = lib.bl_produce_new(b"tester", topics, 2, 2, address(values))
        self.indices, self.codes = np.zeros(MOST, np.int64), np.zeros(MOST, np.int32)
        self.at_ns = np.zeros(MOST, np.int64)
        self.broker: dict[int, socket.socket] = {}
        self.half = b""
        self.sent = 0
        self.connect(0)
        for lane in range(4):
            lib.bl_produce_lead(self.handle, lane, 0)

    def connect(self, number: int, send_buffer: int = 0) -> None:
        if number in self.broker:
            self.broker[number].close()
        self.half = b""
        self.broker[number], client = socket.socketpair()
        if send_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        client.setblocking(False)
        self.broker[number].setblocking(False)
        self.lib.bl_produce_attach(self.handle, number, client.detach())

    def send(self, *messages: tuple[int, bytes], keys: Sequence[bytes] | None = None) -> None:
        """(lane, value) each; the messages are numbered from 0 on over the life of the producer. Then its turn to work."""
        values = [value for _, value in messages]
        buffer = np.frombuffer(b"".join(values) or b"\0", np.uint8).copy()
        lengths = np.array([len(v) for v in values], np.int32)
        offsets = np.concatenate([[0], np.cumsum(lengths[:-1], dtype=np.int64)]).astype(np.int64)
        lanes = np.array([lane for lane, _ in messages], np.int32)
        packed = None if keys is None else np.frombuffer(b"".join(keys), np.uint8).copy()
        columns = (address(a) for a in (buffer, offsets, lengths, lanes))
        where = None if packed is None else address(packed)
        assert self.lib.bl_produce_send(self.handle, *columns, where, self.sent, len(messages)) == len(messages)
        self.sent += len(messages)
        self.work()

    def work(self) -> None:
        """Send and receive, without asking what has settled."""
        assert self.lib.bl_produce_settled(self.handle, None, None, None, 0) == 0

    def settled(self, most: int = MOST) -> list[tuple[int, int]]:
        """(number, code) of what has settled; nothing while it asks to be mended."""
        columns = (address(a) for a in (self.indices, self.codes, self.at_ns))
        n = self.lib.bl_produce_settled(self.handle, *columns, most)
        return [(int(self.indices[i]), int(self.codes[i])) for i in range(max(n, 0))]

    def say(self, data: bytes, number: int = 0) -> None:
        self.broker[number].sendall(data)

    def heard(self, number: int = 0) -> list[Request]:
        try:
            self.half += self.broker[number].recv(1 << 20)
        except BlockingIOError:
            return []
        found, self.half = requests(self.half, self.acks)
        return found

    def needs_care(self) -> bool:
        return bool(self.lib.bl_produce_needs_care(self.handle))

    def is_up(self, number: int = 0) -> bool:
        return bool(self.lib.bl_produce_is_up(self.handle, number))

    def error(self, lane: int) -> int:
        return int(self.lib.bl_produce_error(self.handle, lane))

    def unsettled(self) -> int:
        return int(self.lib.bl_produce_unsettled(self.handle))

    def why(self) -> str:
        return str(self.lib.bl_produce_why(self.handle).decode())

    def close(self) -> None:
        self.lib.bl_produce_free(self.handle)
        for one in self.broker.values():
            one.close()
