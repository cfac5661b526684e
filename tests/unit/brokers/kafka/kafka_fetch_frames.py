"""Fetch requests and responses as Kafka encodes them, written down independently of the C code; and a C fetcher on one
end of a socket pair with a test on the other."""

from __future__ import annotations

import ctypes
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from kafka_frames import Reader

from brokerlab.native.loader import address, library

MOST = 4096
Message = tuple[int, bytes]  # offset, value


Partition = tuple[int, int, bytes]  # number, error, records


def response(correlation: int, topics: Sequence[tuple[str, Sequence[Partition]]], error: int = 0) -> bytes:
    body = struct.pack(">iihii", correlation, 0, error, 0, len(topics))
    for name, partitions in topics:
        body += struct.pack(">h", len(name)) + name.encode() + struct.pack(">i", len(partitions))
        for number, code, records in partitions:
            body += struct.pack(">ihqqq", number, code, 1000, 1000, 0) + struct.pack(">i", -1)
            body += struct.pack(">ii", -1, len(records)) + records
    return struct.pack(">i", len(body)) + body


@dataclass(frozen=True)
class Request:
    correlation: int
    offsets: dict[tuple[str, int], int] = field(default_factory=dict)


def requests(data: bytes) -> list[Request]:
    """What a client asked, every field of the form checked; whole requests only."""
    found = []
    while data:
        (size,) = struct.unpack(">i", data[:4])
        reader = Reader(data[4 : 4 + size])
        assert len(reader.data) == size
        key, version, correlation = reader.take(">hhi")
        assert (key, version, reader.text()) == (1, 11, "tester")
        assert reader.take(">iiii") == (-1, 500, 1, 1 << 20)
        assert reader.take(">bii") == (0, 0, -1)  # uncommitted too, no session
        offsets = {}
        for _ in range(reader.take(">i")[0]):
            topic = reader.text()
            for _ in range(reader.take(">i")[0]):
                number, epoch, offset, start, most = reader.take(">iiqqi")
                assert (epoch, start, most) == (-1, -1, 4096)
                offsets[topic, number] = offset
        assert reader.take(">i") == (0,)
        assert reader.text() == ""
        assert not reader.data
        found.append(Request(correlation, offsets))
        data = data[4 + size :]
    return found


class Fetcher:
    """Topics "a" and "b" with two partitions each, so lanes 0 to 3."""

    def __init__(self, lanes: dict[int, int] | None = None, check_crc: bool = True) -> None:
        lib = library()
        assert lib is not None
        self.lib = lib
        topics = (ctypes.c_char_p * 2)(b"a", b"b")
        settings = np.array([500, 1, 1 << 20, 4096, check_crc], np.int64)
        self.handle = lib.bl_fetch_new(b"tester", topics, 2, 2, address(settings))
        self.addresses, self.lengths = np.zeros(MOST, np.uint64), np.zeros(MOST, np.int32)
        self.offsets, self.about = np.zeros(MOST, np.int64), np.zeros(2, np.int64)
        self.broker: dict[int, socket.socket] = {}
        self.code = 0
        for lane, offset in ({0: 0} if lanes is None else lanes).items():
            lib.bl_fetch_seek(self.handle, lane, offset)
        self.connect(0)
        for lane in {0: 0} if lanes is None else lanes:
            lib.bl_fetch_lead(self.handle, lane, 0)

    def connect(self, number: int) -> None:
        if number in self.broker:
            self.broker[number].close()
        self.broker[number], client = socket.socketpair()
        client.setblocking(False)
        self.broker[number].setblocking(False)
        self.lib.bl_fetch_attach(self.handle, number, client.detach())

    def say(self, data: bytes, number: int = 0) -> None:
        assert self.broker[number].send(data) == len(data)

    def heard(self, number: int = 0) -> list[Request]:
        try:
            return requests(self.broker[number].recv(1 << 20))
        except BlockingIOError:
            return []

    def receive(self, most: int = MOST, wait_s: float = 0) -> list[Message]:
        deadline = time.monotonic_ns() + int(wait_s * 1e9) if wait_s else 0
        columns = (address(a) for a in (self.addresses, self.lengths, self.offsets, self.about))
        n = self.lib.bl_fetch_receive(self.handle, deadline, most, *columns)
        self.code = min(n, 0)
        return [
            (int(self.offsets[i]), ctypes.string_at(int(self.addresses[i]), int(self.lengths[i])))
            for i in range(max(n, 0))
        ]

    def receive_all(self, most: int = MOST) -> list[Message]:
        found: list[Message] = []
        while more := self.receive(most):
            found += more
        return found

    def error(self, lane: int) -> int:
        return int(ctypes.cast(self.lib.bl_fetch_errors(self.handle), ctypes.POINTER(ctypes.c_int32))[lane])

    def position(self, lane: int) -> int:
        return int(ctypes.cast(self.lib.bl_fetch_positions(self.handle), ctypes.POINTER(ctypes.c_int64))[lane])

    def is_up(self, number: int = 0) -> bool:
        return bool(self.lib.bl_fetch_is_up(self.handle, number))

    def why(self) -> str:
        return str(self.lib.bl_fetch_why(self.handle).decode())

    def close(self) -> None:
        self.lib.bl_fetch_free(self.handle)
        for one in self.broker.values():
            one.close()
