"""A C producer or consumer on one end of a socket pair, a test on the other: bytes in any cut, without a server."""

from __future__ import annotations

import ctypes
import socket
import time
from collections.abc import Sequence

import numpy as np

from brokerlab.native.loader import address, library

INBOX = "_R.test."
GREETING = b'INFO {"server_id":"x","max_payload":1000,"headers":true}\r\n'
HELLO = b"CONNECT {}\r\nSUB _R.test.* 1\r\nPING\r\n"
MOST = 256
UP = 3


def strings(*values: str) -> object:
    return (ctypes.c_char_p * len(values))(*(v.encode() for v in values))


class End:
    """What both roles share: the socket's other end, and the greeting."""

    handle: int

    def __init__(self) -> None:
        lib = library()
        assert lib is not None
        self.lib = lib
        self.server: socket.socket | None = None

    def connect(self) -> None:
        self.server, client = socket.socketpair()
        client.setblocking(False)
        self.server.setblocking(False)
        self.lib.bl_nats_attach(self.handle, client.detach())

    def say(self, data: bytes) -> None:
        assert self.server is not None
        assert self.server.send(data) == len(data)

    def heard(self) -> bytes:
        """Everything the client has written so far."""
        assert self.server is not None
        found = b""
        while True:
            try:
                more = self.server.recv(1 << 20)
            except BlockingIOError:
                return found
            if not more:
                return found
            found += more

    def state(self) -> int:
        return int(self.lib.bl_nats_state(self.handle))

    def why(self) -> str:
        return str(self.lib.bl_nats_why(self.handle).decode())


class ProducerEnd(End):
    def __init__(self, pending: int = 1 << 20) -> None:
        super().__init__()
        prefixes = strings(f"PUB d.0 {INBOX}", f"PUB d.1 {INBOX}")
        self.handle = self.lib.bl_nats_producer_new(HELLO, len(HELLO), prefixes, 2, len(INBOX), pending)
        self.indices, self.codes, self.at = np.zeros(MOST, np.int64), np.zeros(MOST, np.int32), np.zeros(MOST, np.int64)
        self.connect()

    def settled(self) -> list[tuple[int, object]]:
        """(number, 0 | "lost" | "too large" | (status, text)) as learnt by one call."""
        n = self.lib.bl_nats_settled(self.handle, address(self.indices), address(self.codes), address(self.at), MOST)
        rows = zip(*(a[: max(n, 0)].tolist() for a in (self.indices, self.codes)), strict=True)
        return [(index, self._meaning(code)) for index, code in rows]

    def _meaning(self, code: int) -> object:
        if code < 3:
            return (0, "lost", "too large")[code]
        status = ctypes.c_int32()
        text = self.lib.bl_nats_answer(self.handle, code - 3, ctypes.byref(status))
        return status.value, text

    def send(self, first_index: int, payloads: Sequence[bytes], partitions: Sequence[int] | None = None) -> int:
        buffer = np.frombuffer(b"".join(payloads) + b" ", np.uint8).copy()
        lengths = np.array([len(p) for p in payloads], np.int32)
        offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        where = np.array(partitions or [0] * len(payloads), np.int32)
        arrays = (buffer, offsets, lengths, where)
        return int(self.lib.bl_nats_send(self.handle, *map(address, arrays), None, first_index, len(payloads)))

    def close(self) -> None:
        self.lib.bl_nats_producer_free(self.handle)
        if self.server is not None:
            self.server.close()


class ConsumerEnd(End):
    def __init__(self, policy: int = 2, pull_messages: int = 10, pull_bytes: int = 1 << 20) -> None:
        super().__init__()
        pulls = strings("PUB pull.0 i.0", "PUB pull.1 i.1")
        self.handle = self.lib.bl_nats_consumer_new(
            HELLO, len(HELLO), pulls, 2, b',"rest":1}', pull_messages, pull_bytes, policy
        )
        self.columns = [np.zeros(MOST, t) for t in (np.uint64, np.int32, np.int64, np.uint8)]
        self.about = np.zeros(2, np.int64)
        self.connect()

    def receive(self, most: int = MOST) -> list[tuple[bytes, int, int]]:
        """(payload, position, redelivered) of what is there now."""
        self.result = self.lib.bl_nats_receive(self.handle, 0, most, *map(address, (*self.columns, self.about)))
        rows = zip(*(c[: max(self.result, 0)].tolist() for c in self.columns), strict=True)
        return [(ctypes.string_at(at, length), position, again) for at, length, position, again in rows]

    def acknowledge(self, first: int, n: int) -> None:
        self.lib.bl_nats_acknowledge(self.handle, first, n)

    def give_back(self) -> None:
        self.lib.bl_nats_give_back(self.handle, time.monotonic_ns() + 50_000_000)

    def close(self) -> None:
        self.lib.bl_nats_consumer_free(self.handle)
        if self.server is not None:
            self.server.close()


def pull(stream: int, messages: int = 10) -> bytes:
    """What a ConsumerEnd writes to ask for so many."""
    request = f'{{"batch":{messages},"rest":1}}'
    return f"PUB pull.{stream} i.{stream} {len(request)}\r\n{request}\r\n".encode()


def msg(subject: str, data: bytes, reply: str = "", sid: int = 1) -> bytes:
    between = f"{reply} " if reply else ""
    return f"MSG {subject} {sid} {between}{len(data)}\r\n".encode() + data + b"\r\n"


def hmsg(subject: str, header: bytes, data: bytes = b"", reply: str = "", sid: int = 1) -> bytes:
    between = f"{reply} " if reply else ""
    sizes = f"{len(header)} {len(header) + len(data)}"
    return f"HMSG {subject} {sid} {between}{sizes}\r\n".encode() + header + data + b"\r\n"


def ack_subject(stream: str, count: int, sequence: int) -> str:
    return f"$JS.ACK.{stream}.g.{count}.{sequence}.{sequence}.1700000000000000000.0"
