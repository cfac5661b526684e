"""Frames as Pulsar documents them, written and read independently of the C code; and C clients on one end of socket pairs
with a test on the other."""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from brokerlab.brokers.kit.protobuf import fields_of, number_in, text_in, varint
from brokerlab.native.loader import address, library, strings

SEND, SEND_RECEIPT, SEND_ERROR, MESSAGE, ACK, FLOW, SUCCESS = 6, 7, 8, 9, 10, 11, 13
CLOSE_PRODUCER, CLOSE_CONSUMER, PING, PONG = 15, 16, 18, 19
MOST = 4096
MAGIC = 0x0E01


def number(key: int, value: int) -> bytes:
    return varint(key << 3) + varint(value)


def nested(key: int, data: bytes) -> bytes:
    return varint(key << 3 | 2) + varint(len(data)) + data


def command(kind: int, fields: bytes = b"", behind: bytes = b"") -> bytes:
    base = number(1, kind) + nested(kind, fields)
    return struct.pack(">II", 4 + len(base) + len(behind), len(base)) + base + behind


def crc32c(data: bytes) -> int:
    """Bit by bit, as it is defined."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 if crc & 1 else crc >> 1
    return crc ^ 0xFFFFFFFF


@dataclass(frozen=True)
class Sent:
    """A SEND as a broker reads it; every field of the form is checked."""

    producer: int
    sequence: int
    name: str
    messages: list[bytes]
    keys: list[str]
    publish_ms: int
    is_batch: bool


def frames(data: bytes) -> tuple[list[tuple[int, bytes, bytes]], bytes]:
    """Commands with their fields and what stands behind them, and the bytes of one that is not whole yet."""
    found = []
    while len(data) >= 8 and len(data) >= 4 + (size := struct.unpack_from(">I", data)[0]):
        length = struct.unpack_from(">I", data, 4)[0]
        base = fields_of(data[8 : 8 + length])
        kind = number_in(base, 1)
        inside = base[kind]
        assert isinstance(inside, bytes)
        found.append((kind, inside, data[8 + length : 4 + size]))
        data = data[4 + size :]
    return found, data


def read_send(fields: bytes, behind: bytes) -> Sent:
    sent = fields_of(fields)
    magic, crc, length = struct.unpack_from(">HII", behind)
    assert magic == MAGIC
    assert crc == crc32c(behind[6:])
    metadata, payload = fields_of(behind[10 : 10 + length]), behind[10 + length :]
    assert number_in(metadata, 2) == number_in(sent, 2)
    is_batch = 11 in metadata
    messages, keys = [], []
    while is_batch and payload:
        size = struct.unpack_from(">I", payload)[0]
        single = fields_of(payload[4 : 4 + size])
        end = 4 + size + number_in(single, 3)
        messages.append(payload[4 + size : end])
        keys.append(text_in(single, 2))
        payload = payload[end:]
    if not is_batch:
        messages, keys = [payload], [text_in(metadata, 6)]
    assert len(messages) == number_in(sent, 3)
    assert not is_batch or len(messages) == number_in(metadata, 11)
    return Sent(
        number_in(sent, 1), number_in(sent, 2), text_in(metadata, 1), messages, keys, number_in(metadata, 3), is_batch
    )


def receipt(sent: Sent) -> bytes:
    return command(SEND_RECEIPT, number(1, sent.producer) + number(2, sent.sequence) + nested(3, number(1, 5)))


def send_error(sent: Sent, error: int) -> bytes:
    said = number(1, sent.producer) + number(2, sent.sequence) + number(3, error) + nested(4, b"why")
    return command(SEND_ERROR, said)


class Ends:
    """The other ends of socket pairs, by the number of the connection; what was read of each and is not whole."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._rest: list[bytes] = []

    def new(self) -> int:
        """The number of a socket for C."""
        ours, theirs = socket.socketpair()
        for one in (ours, theirs):
            one.setblocking(False)
        self._sockets.append(ours)
        self._rest.append(b"")
        return theirs.detach()

    def say(self, data: bytes, connection: int = -1) -> None:
        self._sockets[connection].sendall(data)

    def hang_up(self, connection: int = -1) -> None:
        self._sockets[connection].close()

    def heard(self, connection: int = -1) -> list[tuple[int, bytes, bytes]]:
        data = self._rest[connection]
        try:
            while more := self._sockets[connection].recv(1 << 20):
                data += more
        except BlockingIOError:
            pass
        found, self._rest[connection] = frames(data)
        return found

    def close(self) -> None:
        for one in self._sockets:
            one.close()


class Producer:
    """Four lanes, all on connection 0 unless told otherwise."""

    def __init__(self, lanes: int = 4, attached: bool = True, **settings: int) -> None:
        lib = library()
        assert lib is not None
        self._lib, self.ends = lib, Ends()
        defaults = {
            "linger_ns": 0, "batch_bytes": 1000, "batch_messages": 100, "batching": 1, "message_most": 5000,
            "timeout_ns": 60 * 10**9,
        }  # fmt: skip
        values = np.array(list((defaults | settings).values()), np.int64)
        self.handle = lib.bl_pulsar_sender_new(lanes, address(values))
        self._lanes, self._next = lanes, 0
        if attached:
            self.attach(range(lanes))

    def attach(self, lanes: Sequence[int], read: bytes = b"", name: str = "p") -> bool:
        numbers = np.array(list(lanes), np.int32)
        already = np.frombuffer(read, np.uint8)
        names = strings(f"{name}{lane}" for lane in numbers.tolist())
        return bool(
            self._lib.bl_pulsar_sender_attach(
                self.handle, self.ends.new(), address(already), len(already), address(numbers), names, len(numbers)
            )
        )

    def send(self, *messages: tuple[int, bytes], keys: Sequence[int] | None = None) -> None:
        """Each with its lane."""
        buffer = np.frombuffer(b"".join(m for _, m in messages) or b"\0", np.uint8)
        lengths = np.array([len(m) for _, m in messages], np.int32)
        offsets = np.cumsum([0, *lengths[:-1].tolist()]).astype(np.int64)
        partitions = np.array([p for p, _ in messages], np.int32)
        given = None if keys is None else np.array(keys, ">i4")
        taken = self._lib.bl_pulsar_send(
            self.handle, address(buffer), address(offsets), address(lengths), address(partitions),
            None if given is None else address(given), self._next, len(messages),
        )  # fmt: skip
        assert taken == len(messages)
        self._next += taken

    def step(self, most: int = MOST) -> tuple[int, list[tuple[int, int]]]:
        """What `settled` returns, and message numbers with codes."""
        indices, codes, at_ns = np.zeros(MOST, np.int64), np.zeros(MOST, np.int32), np.zeros(MOST, np.int64)
        n = self._lib.bl_pulsar_settled(self.handle, address(indices), address(codes), address(at_ns), most)
        return n, list(zip(indices[: max(n, 0)].tolist(), codes[: max(n, 0)].tolist(), strict=True))

    def settled(self) -> list[tuple[int, int]]:
        """Calls for care are passed over."""
        n, found = self.step()
        return self.step()[1] if n < 0 else found

    def heard(self, connection: int = -1) -> list[Sent]:
        self.settled_before = self.settled()
        return [read_send(f, b) for kind, f, b in self.ends.heard(connection) if kind == SEND]

    def down(self) -> list[int]:
        lanes = np.zeros(self._lanes, np.int32)
        return lanes[: self._lib.bl_pulsar_sender_down(self.handle, address(lanes), len(lanes))].tolist()

    def why(self) -> str:
        return str(self._lib.bl_pulsar_sender_why(self.handle).decode())

    def close(self) -> None:
        self._lib.bl_pulsar_sender_free(self.handle)
        self.ends.close()


# ---- consumers


def single(payload: bytes, key: str = "") -> bytes:
    about = (nested(2, key.encode()) if key else b"") + number(3, len(payload))
    return struct.pack(">I", len(about)) + about + payload


def delivery(
    lane: int, entry: int, messages: Sequence[bytes], *, batch: bool = True, redeliveries: int = 0,
    left: Sequence[int] = (), metadata: bytes = b"", ledger: int = 3, wrong_crc: int = 0, broker_metadata: bytes = b"",
) -> bytes:  # fmt: skip
    about = nested(1, b"name") + number(2, 7) + number(3, 1_700_000_000_000) + metadata
    if batch:
        about += number(11, len(messages))
    summed = struct.pack(">I", len(about)) + about
    summed += b"".join(map(single, messages)) if batch else messages[0]
    behind = struct.pack(">HI", MAGIC, crc32c(summed) ^ wrong_crc) + summed
    if broker_metadata:
        behind = struct.pack(">HI", 0x0E02, len(broker_metadata)) + broker_metadata + behind
    said = number(1, lane + 1) + nested(2, number(1, ledger) + number(2, entry))
    said += number(3, redeliveries) if redeliveries else b""
    return command(MESSAGE, said + b"".join(number(4, word) for word in left), behind)


@dataclass(frozen=True)
class Received:
    payload: bytes
    position: int
    redelivered: bool


@dataclass
class Consumer:
    """So many lanes, all on connection 0 unless told otherwise."""

    lanes: int = 2
    queue: int = 100
    attached: bool = True
    ends: Ends = field(default_factory=Ends)

    def __post_init__(self) -> None:
        lib = library()
        assert lib is not None
        self._lib = lib
        self.handle = lib.bl_pulsar_receiver_new(self.lanes, self.queue)
        if self.attached:
            self.attach(range(self.lanes))

    def attach(self, lanes: Sequence[int], read: bytes = b"") -> bool:
        numbers, already = np.array(list(lanes), np.int32), np.frombuffer(read, np.uint8)
        return bool(
            self._lib.bl_pulsar_receiver_attach(
                self.handle, self.ends.new(), address(already), len(already), address(numbers), len(numbers)
            )
        )

    def receive(self, most: int = MOST, deadline_ns: int = 0) -> tuple[int, list[Received], int]:
        """What it returned, the messages, the ordinal of the first."""
        addresses, lengths = np.zeros(MOST, np.uint64), np.zeros(MOST, np.int32)
        positions, again, about = np.zeros(MOST, np.int64), np.zeros(MOST, np.uint8), np.zeros(2, np.int64)
        n = self._lib.bl_pulsar_receive(
            self.handle, deadline_ns, most, address(addresses), address(lengths), address(positions), address(again),
            address(about),
        )  # fmt: skip
        found = [
            Received(ctypes.string_at(int(addresses[i]), int(lengths[i])), int(positions[i]), bool(again[i]))
            for i in range(max(n, 0))
        ]
        return n, found, int(about[1])

    def acknowledge(self, first: int, n: int) -> None:
        self._lib.bl_pulsar_acknowledge(self.handle, first, n)

    def tell(self) -> None:
        self._lib.bl_pulsar_tell(self.handle)

    def down(self) -> list[int]:
        lanes = np.zeros(self.lanes, np.int32)
        return lanes[: self._lib.bl_pulsar_receiver_down(self.handle, address(lanes), len(lanes))].tolist()

    def why(self) -> str:
        return str(self._lib.bl_pulsar_receiver_why(self.handle).decode())

    def leave(self, deadline_ns: int) -> None:
        self._lib.bl_pulsar_receiver_close(self.handle, deadline_ns)

    def close(self) -> None:
        self._lib.bl_pulsar_receiver_free(self.handle)
        self.ends.close()


def fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """All of them, repeated ones too."""
    found: list[tuple[int, int | bytes]] = []
    at = 0

    def next_number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = next_number()
        if key & 7 == 0:
            found.append((key >> 3, next_number()))
        else:
            assert key & 7 == 2
            n = next_number()
            found.append((key >> 3, data[at : at + n]))
            at += n
    return found
