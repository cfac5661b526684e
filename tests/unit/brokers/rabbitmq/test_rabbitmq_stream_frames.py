"""The stream protocol's publish frames and chunks, and figures of the probe."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from brokerlab.brokers.kit.probing import figures_in
from brokerlab.brokers.rabbitmq.chunks import message_prefix, read_chunk
from brokerlab.brokers.rabbitmq.metrics import METRICS
from brokerlab.brokers.rabbitmq.stream_producer import publish_frames
from brokerlab.model.blocks import Block


def published(data: bytes) -> dict[int, list[tuple[int, bytes]]]:
    """Publisher -> its messages as (publishing id, entry)."""
    found: dict[int, list[tuple[int, bytes]]] = {}
    at = 0
    while at < len(data):
        size, key, version, publisher, count = struct.unpack_from(">IHHBI", data, at)
        assert (key, version) == (2, 1)
        end, at = at + 4 + size, at + 13
        entries = found.setdefault(publisher, [])
        for _ in range(count):
            number, length = struct.unpack_from(">QI", data, at)
            entries.append((number, data[at + 12 : at + 12 + length]))
            at += 12 + length
        assert at == end
    return found


@pytest.mark.parametrize("sizes", [[64] * 7, [40], [40, 100, 3000, 41]])
def test_each_partition_gets_its_messages_in_order_with_their_numbers(sizes: list[int]) -> None:
    payloads = [bytes([i + 1]) * size for i, size in enumerate(sizes)]
    offsets = np.cumsum([0, *sizes[:-1]]).astype(np.int64)
    partitions = (np.arange(len(sizes)) % 2).astype(np.int32)
    buffer = np.frombuffer(b"".join(payloads), np.uint8)
    found = published(publish_frames(Block(buffer, offsets, np.array(sizes, np.int32), partitions, 5), 100))
    wanted: dict[int, list[tuple[int, bytes]]] = {}
    for i, payload in enumerate(payloads):
        wanted.setdefault(i % 2, []).append((100 + i, message_prefix(len(payload)) + payload))
    assert found == wanted


def chunk_of(entries: list[bytes], first: int, kind: int = 0, records: int | None = None) -> bytes:
    data = b"".join(struct.pack(">I", len(e)) + e for e in entries)
    count = len(entries)
    return struct.pack(
        ">BBHIqQQIIII", 0x50, kind, count, count if records is None else records, 0, 1, first, 0, len(data), 0, 0
    ) + data  # fmt: skip


@pytest.mark.parametrize("sizes", [[64] * 5, [1], [40, 300, 41]])
def test_a_chunk_gives_its_messages_with_their_offsets(sizes: list[int]) -> None:
    bodies = [bytes([i + 1]) * size for i, size in enumerate(sizes)]
    content = b"\x07" + chunk_of([message_prefix(len(b)) + b for b in bodies], 1000)
    chunk = read_chunk(content, 1)
    assert chunk is not None
    found = [chunk.buffer[s : s + n].tobytes() for s, n in zip(chunk.starts, chunk.lengths, strict=True)]
    assert found == bodies
    assert chunk.positions.tolist() == list(range(1000, 1000 + len(sizes)))
    assert chunk.part(slice(1, None)).positions.tolist() == chunk.positions.tolist()[1:]


def test_messages_of_other_clients_are_read_too() -> None:
    short = b"\x00\x53\x75\xa0\x03abc"
    chunk = read_chunk(chunk_of([short, b"plain bytes"], 0), 0)
    assert chunk is not None
    found = [chunk.buffer[s : s + n].tobytes() for s, n in zip(chunk.starts, chunk.lengths, strict=True)]
    assert found == [b"abc", b"plain bytes"]


def test_chunks_without_messages_give_none_and_those_that_cannot_be_read_say_so() -> None:
    assert read_chunk(chunk_of([b"tracking"], 0, kind=1), 0) is None
    with pytest.raises(OSError, match="unreadable chunk"):
        read_chunk(chunk_of([b"several in one"], 0, records=3), 0)
    with pytest.raises(OSError, match="unreadable chunk"):
        read_chunk(chunk_of([b"cut off" * 10], 0)[:-5], 0)


def test_figures_of_one_name_are_added_up_and_unknown_ones_left_out() -> None:
    page = """# TYPE rabbitmq_global_messages_received_total counter
rabbitmq_global_messages_received_total{protocol="amqp091"} 40
rabbitmq_global_messages_received_total{protocol="stream"} 2
rabbitmq_queue_messages_ready 5
rabbitmq_something_else 1
rabbitmq_process_open_fds NaN
"""
    found = {figure.metric: value for figure, value in figures_in(page, METRICS).items()}
    assert found == {"messages_received_total": 42.0, "messages_ready": 5.0}
