"""AMQP frames made and read in blocks, held against pika's codec."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pika import frame, spec

from brokerlab.brokers.rabbitmq.deliveries import Arrived, DeliveryReader
from brokerlab.brokers.rabbitmq.frames import PublishEncoder, ack_frames, ack_up_to, read_confirms
from brokerlab.model.blocks import Block

FRAME_MAX = 4096
ROUTES = [("orders", "00000"), ("orders", "00001")]
UNEVEN = [("a", "0"), ("longer", "00001")]


def block(sizes: list[int], first_index: int = 7) -> tuple[Block, list[bytes]]:
    payloads = [bytes([i % 251]) * size for i, size in enumerate(sizes)]
    offsets = np.cumsum([0, *sizes[:-1]]).astype(np.int64)
    buffer = np.frombuffer(b"".join(payloads), np.uint8)
    partitions = (np.arange(len(sizes)) % 2).astype(np.int32)
    return Block(buffer, offsets, np.array(sizes, np.int32), partitions, first_index), payloads


def decoded(data: bytes) -> list[object]:
    found = []
    while data:
        used, read = frame.decode_frame(data)
        assert used, "a frame that does not end"
        found.append(read)
        data = data[used:]
    return found


@pytest.mark.parametrize("routes", [ROUTES, UNEVEN])
@pytest.mark.parametrize("sizes", [[100] * 9, [1], [40, 200, 4087, 4088, 4089, 20_000], [FRAME_MAX * 3] * 2])
def test_pika_reads_what_was_encoded(routes: list[tuple[str, str]], sizes: list[int]) -> None:
    made, payloads = block(sizes)
    frames = decoded(PublishEncoder(routes, FRAME_MAX).encode(made))
    for number, payload in enumerate(payloads):
        method, header = frames.pop(0), frames.pop(0)
        assert isinstance(method.method, spec.Basic.Publish)
        assert (method.method.exchange, method.method.routing_key) == routes[number % 2]
        assert method.method.mandatory
        assert header.properties.delivery_mode == 2
        assert header.properties.timestamp == 7 + number
        body = b""
        while len(body) < header.body_size:
            piece = frames.pop(0)
            assert len(piece.fragment) <= FRAME_MAX - 8
            body += piece.fragment
        assert body == payload
    assert not frames


def test_messages_that_lie_apart_in_the_buffer_are_found() -> None:
    rows = np.arange(5 * 64, dtype=np.uint8).reshape(5, 64)
    lengths = np.full(5, 40, np.int32)
    made = Block(rows.reshape(-1), np.arange(5) * 64, lengths, np.zeros(5, np.int32), 0)
    bodies = [f.fragment for f in decoded(PublishEncoder(ROUTES, FRAME_MAX).encode(made)) if hasattr(f, "fragment")]
    assert bodies == [bytes(row[:40]) for row in rows]


def test_confirms_are_read_up_to_the_first_frame_that_is_none() -> None:
    frames = [spec.Basic.Ack(3, True), spec.Basic.Nack(4, False, False), spec.Basic.Ack(9, False)]
    data = b"".join(frame.Method(1, m).marshal() for m in frames)
    other = frame.Heartbeat().marshal() + frame.Method(1, spec.Basic.Ack(10)).marshal()
    confirms = read_confirms(memoryview(data + other))
    assert confirms.tags.tolist() == [3, 4, 9]
    assert confirms.multiple.tolist() == [True, False, False]
    assert confirms.refused.tolist() == [False, True, False]
    assert confirms.used_bytes == len(data)
    assert read_confirms(memoryview(other)).used_bytes == 0
    assert len(read_confirms(memoryview(data[:20])).tags) == 0


def test_acknowledgements_are_what_pika_would_send() -> None:
    tags = np.array([5, 2**40], np.int64)
    assert ack_frames(tags) == b"".join(frame.Method(1, spec.Basic.Ack(int(t), False)).marshal() for t in tags)
    assert ack_up_to(12) == frame.Method(1, spec.Basic.Ack(12, True)).marshal()


def delivery(tag: int, body: bytes, redelivered: bool = False, exchange: str = "orders") -> bytes:
    parts = [
        frame.Method(1, spec.Basic.Deliver("00001", tag, redelivered, exchange, "00000")).marshal(),
        frame.Header(1, len(body), spec.BasicProperties(delivery_mode=2, timestamp=tag)).marshal(),
        *(frame.Body(1, body[i : i + 1000]).marshal() for i in range(0, len(body), 1000)),
    ]
    return b"".join(parts)


def messages(arrived: deque[Arrived]) -> list[tuple[int, bytes, int]]:
    found = []
    for chunk in arrived:
        for i in range(len(chunk)):
            begin = int(chunk.starts[i])
            body = chunk.buffer[begin : begin + int(chunk.lengths[i])].tobytes()
            found.append((int(chunk.numbers[i]), body, int(chunk.redelivered[i])))
    return found


@given(
    sizes=st.lists(st.sampled_from([0, 1, 40, 40, 40, 999, 1000, 2500]), min_size=1, max_size=60),
    cuts=st.lists(st.integers(0, 60_000), max_size=6),
    again=st.integers(0, 60),
)
def test_deliveries_are_read_whole_wherever_the_bytes_are_cut(sizes: list[int], cuts: list[int], again: int) -> None:
    wanted = [(i + 1, bytes([65 + i]) * size, int(i == again)) for i, size in enumerate(sizes)]
    data = b"".join(delivery(tag, body, bool(r)) for tag, body, r in wanted)
    arrived: deque[Arrived] = deque()
    reader = DeliveryReader(arrived)
    buffer = b""
    at = 0
    for end in [*sorted(c for c in cuts if c < len(data)), len(data)]:
        buffer += data[at:end]
        at = end
        used, _ = reader.read(memoryview(buffer))
        buffer = buffer[used:]
    assert buffer == b""
    assert messages(arrived) == wanted
    assert reader.last_tag == len(wanted)


def test_deliveries_of_one_shape_are_read_at_once_up_to_the_first_that_differs() -> None:
    arrived: deque[Arrived] = deque()
    bodies = [bytes([i]) * 40 for i in range(100)]
    data = b"".join(delivery(i + 1, body, i == 30) for i, body in enumerate(bodies))
    # As long as the others in all, but its parts lie elsewhere.
    other = delivery(101, b"z" * 38, exchange="orders__")
    assert len(other) * 100 == len(data)
    used, part = DeliveryReader(arrived).read(memoryview(data + other + data[: len(other) - 1]))
    assert (used, part) == (len(data) + len(other), True)
    wanted = [(i + 1, body, int(i == 30)) for i, body in enumerate(bodies)]
    assert messages(arrived) == [*wanted, (101, b"z" * 38, 0)]
    assert [len(chunk) for chunk in arrived] == [100, 1]


def test_a_part_of_a_delivery_is_kept_for_later_and_other_frames_are_left_to_others() -> None:
    reader = DeliveryReader(deque())
    assert reader.read(memoryview(delivery(1, b"x" * 50)[:-1])) == (0, True)
    assert reader.read(memoryview(frame.Heartbeat().marshal())) == (0, False)


def test_a_chunk_is_split_without_losing_a_message() -> None:
    arrived: deque[Arrived] = deque()
    data = b"".join(delivery(tag, bytes([tag]) * 40) for tag in range(1, 11))
    DeliveryReader(arrived).read(memoryview(data))
    (chunk,) = arrived
    first, second = chunk.split(3)
    assert second is not None
    assert messages(deque([first, second])) == messages(arrived)
    assert len(first) == 3
