"""Record batches as Kafka encodes them, written down independently of the C code, and a reader of Kafka's plain encoding."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(value: int) -> bytes:
    rest = (value << 1 ^ value >> 63) & (1 << 64) - 1
    out = bytearray()
    while rest > 127:
        out.append(rest & 127 | 128)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


@dataclass(frozen=True)
class Record:
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()
    timestamp_delta: int = 0
    offset_delta: int | None = None  # its place in the batch when not said

    def encoded(self, place: int) -> bytes:
        delta = place if self.offset_delta is None else self.offset_delta
        headers = varint(len(self.headers)) + b"".join(_sized(k) + _sized(v) for k, v in self.headers)
        body = b"\0" + varint(self.timestamp_delta) + varint(delta) + _sized(self.key) + _sized(self.value) + headers
        return varint(len(body)) + body


def batch(
    base: int, records: Sequence[Record], *, attributes: int = 0, magic: int = 2, last: int | None = None
) -> bytes:
    deltas = [i if r.offset_delta is None else r.offset_delta for i, r in enumerate(records)]
    last_delta = last if last is not None else max(deltas, default=0)
    summed = struct.pack(">hiqqqhii", attributes, last_delta, 0, 0, -1, -1, -1, len(records))
    summed += b"".join(r.encoded(i) for i, r in enumerate(records))
    rest = struct.pack(">ibI", 7, magic, crc32c(summed)) + summed
    return struct.pack(">qi", base, len(rest)) + rest


def plain(base: int, *values: bytes) -> bytes:
    return batch(base, [Record(v) for v in values])


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, form: str) -> tuple[int, ...]:
        size = struct.calcsize(form)
        found = struct.unpack(form, self.data[:size])
        self.data = self.data[size:]
        return found

    def text(self) -> str:
        (size,) = self.take(">h")
        found, self.data = self.data[:size].decode(), self.data[size:]
        return found

    def number(self) -> int:
        """A number of variable length, zigzag."""
        value = shift = 0
        while True:
            byte, self.data = self.data[0], self.data[1:]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value >> 1 ^ -(value & 1)

    def sized(self) -> bytes | None:
        size = self.number()
        if size < 0:
            return None
        found, self.data = self.data[:size], self.data[size:]
        return found


@dataclass(frozen=True)
class ReadBatch:
    """A batch without offsets, as a producer sends it."""

    first_ms: int
    last_ms: int
    records: tuple[Record, ...]


def read_batch(data: bytes) -> ReadBatch:
    """One batch, every field of it checked."""
    reader = Reader(data)
    base, length, epoch, magic, crc = reader.take(">qiibI")
    assert (base, length, epoch, magic) == (0, len(data) - 12, -1, 2)
    assert crc == crc32c(reader.data)
    attributes, last, first_ms, last_ms, producer, producer_epoch, sequence, count = reader.take(">hiqqqhii")
    assert (attributes, last, producer, producer_epoch, sequence) == (0, count - 1, -1, -1, -1)
    records = []
    for place in range(count):
        length = reader.number()
        before = len(reader.data)
        assert reader.take(">b") == (0,)
        later_ms, delta = reader.number(), reader.number()
        assert delta == place
        key, value = reader.sized(), reader.sized()
        assert reader.number() == 0  # headers
        assert before - len(reader.data) == length
        records.append(Record(value, key, timestamp_delta=later_ms))
    assert not reader.data
    return ReadBatch(first_ms, last_ms, tuple(records))
