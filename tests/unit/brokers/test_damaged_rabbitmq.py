"""RabbitMQ's drivers and a server whose frames are damaged: outcomes and lost connections, never another error."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from damaged_wire import DAMAGES, MESSAGES, Damage, Server, check_consumer, check_producer, speaking_to
from hypothesis import given
from pika import frame, spec

sys.path.insert(0, str(Path(__file__).parents[2] / "contract"))
from contract_load import agent_plan, cell_for

from brokerlab.brokers.rabbitmq import chunks, stream
from brokerlab.brokers.rabbitmq.consumer import AmqpConsumer
from brokerlab.brokers.rabbitmq.producer import AmqpProducer
from brokerlab.brokers.rabbitmq.stream_consumer import StreamConsumer
from brokerlab.brokers.rabbitmq.stream_producer import StreamProducer
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import AgentPlan, Durability, Endpoint

GREETING = b"AMQP\x00\x00\x09\x01"
DELIVERED = 12  # messages of each queue: more than are read one by one


class AmqpServer(Server):
    """Confirms what is published; a consumer gets messages of one size."""

    def __init__(self, inside: Any = (), outside: Any = ()) -> None:
        super().__init__(inside, outside)
        self._published = self._delivered = 0

    def answers(self, data: bytes) -> list[bytes]:
        if data == GREETING:
            return [self._method(0, spec.Connection.Start(0, 9, {}, "PLAIN", "en_US"))]
        found: list[bytes] = []
        while data:
            used, read = frame.decode_frame(data)
            data = data[used:]
            if isinstance(read, frame.Method):
                found += self._answer(read.channel_number, read.method)
        return found

    def _answer(self, channel: int, asked: Any) -> list[bytes]:
        if isinstance(asked, spec.Connection.StartOk):
            return [self._method(0, spec.Connection.Tune(2047, 131_072, 60))]
        if isinstance(asked, spec.Basic.Publish):
            self._published += 1
            return [self._method(channel, spec.Basic.Ack(self._published))]
        if isinstance(asked, spec.Basic.Consume):
            return [
                self._method(channel, spec.Basic.ConsumeOk(asked.consumer_tag)),
                *self._messages(asked.consumer_tag),
            ]
        kinds = {
            spec.Connection.Open: spec.Connection.OpenOk,
            spec.Channel.Open: spec.Channel.OpenOk,
            spec.Confirm.Select: spec.Confirm.SelectOk,
            spec.Basic.Qos: spec.Basic.QosOk,
            spec.Queue.Declare: lambda: spec.Queue.DeclareOk("q", 0, 0),
            spec.Connection.Close: spec.Connection.CloseOk,
        }
        made = kinds.get(type(asked))
        return [] if made is None else [self._method(channel, made())]

    def _messages(self, tag: str) -> list[bytes]:
        found = []
        for _ in range(DELIVERED):
            self._delivered += 1
            parts = (
                frame.Method(1, spec.Basic.Deliver(tag, self._delivered, False, "e", "00000")),
                frame.Header(1, 8, spec.BasicProperties(delivery_mode=2)),
                frame.Body(1, b"12345678"),
            )
            found += [self._resized(part.marshal()) for part in parts]
        return found

    def _method(self, channel: int, method: Any) -> bytes:
        return self._resized(frame.Method(channel, method).marshal())

    def _resized(self, made: bytes) -> bytes:
        """With a length that is true also of what is damaged."""
        content = self.damaged(made[7:-1])
        return made[:3] + struct.pack(">I", len(content)) + content + made[-1:]


class StreamServer(Server):
    """Confirms what is published; a subscription gets one chunk."""

    def answers(self, data: bytes) -> list[bytes]:
        found, at = [], 0
        while at < len(data):
            size, key = struct.unpack_from(">IH", data, at)
            found += self._answer(key, data[at + 8 : at + 4 + size])
            at += 4 + size
        return found

    def _answer(self, key: int, content: bytes) -> list[bytes]:
        if key == stream.PUBLISH:
            count, at, ids = int.from_bytes(content[1:5]), 5, b""
            for _ in range(count):
                ids += content[at : at + 8]
                at += 12 + int.from_bytes(content[at + 8 : at + 12])
            return [self._frame(stream.PUBLISH_CONFIRM, content[:5] + ids)]
        if key in (stream.TUNE, stream.CREDIT, stream.STORE_OFFSET, stream.HEARTBEAT):
            return []
        code = stream.NO_OFFSET if key == stream.QUERY_OFFSET else stream.OK
        more = b""
        if key == stream.STREAM_STATS:
            more = struct.pack(">I", 1) + stream.text("committed_chunk_id") + struct.pack(">q", 0)
        found = [self._frame(key | 0x8000, content[:4] + struct.pack(">H", code) + more)]
        if key == stream.SASL_AUTHENTICATE:
            found.append(self._frame(stream.TUNE, struct.pack(">II", 1 << 20, 60)))
        if key == stream.SUBSCRIBE:
            found.append(self._frame(stream.DELIVER, content[4:5] + chunk([b"1234567", b"12345678"])))
        return found

    def _frame(self, key: int, content: bytes) -> bytes:
        content = self.damaged(content)
        return struct.pack(">IHH", 4 + len(content), key, 1) + content


def chunk(payloads: list[bytes]) -> bytes:
    """As the server keeps messages, beginning with offset 0."""
    entries = [chunks.message_prefix(len(p)) + p for p in payloads]
    data = b"".join(struct.pack(">I", len(e)) + e for e in entries)
    return chunks._HEADER.pack(0x50, 0, len(entries), len(entries), 0, 0, 0, 0, len(data), 0, 0) + data


def plan(broker: str, group: str | None = None) -> AgentPlan:
    endpoint = Endpoint(addresses=("server:1",), options={"stream": "server:2"})
    return agent_plan(cell_for(broker, 1, Durability.L4), endpoint, ("t",), group, "each")


def amqp_producer() -> AmqpProducer:
    return AmqpProducer(plan("rabbitmq-classic"), 0)


def amqp_consumer() -> AmqpConsumer:
    return AmqpConsumer(plan("rabbitmq-classic", "g"), 0)


def stream_producer() -> StreamProducer:
    return StreamProducer(plan("rabbitmq-stream"), 0)


def stream_consumer() -> StreamConsumer:
    return StreamConsumer(plan("rabbitmq-stream", "g"), 0)


@given(DAMAGES, DAMAGES)
def test_an_amqp_producer_takes_any_damage_for_a_lost_connection(inside: list[Damage], outside: list[Damage]) -> None:
    with speaking_to(lambda: AmqpServer(inside, outside)):
        check_producer(amqp_producer)


@given(DAMAGES, DAMAGES)
def test_an_amqp_consumer_takes_any_damage_for_a_lost_connection(inside: list[Damage], outside: list[Damage]) -> None:
    with speaking_to(lambda: AmqpServer(inside, outside)):
        check_consumer(amqp_consumer)


@given(DAMAGES, DAMAGES)
def test_a_stream_producer_takes_any_damage_for_a_lost_connection(inside: list[Damage], outside: list[Damage]) -> None:
    with speaking_to(lambda: StreamServer(inside, outside)):
        check_producer(stream_producer)


@given(DAMAGES, DAMAGES)
def test_a_stream_consumer_takes_any_damage_for_a_lost_connection(inside: list[Damage], outside: list[Damage]) -> None:
    with speaking_to(lambda: StreamServer(inside, outside)):
        check_consumer(stream_consumer)


def test_the_servers_of_these_tests_are_understood_when_nothing_is_damaged() -> None:
    with speaking_to(AmqpServer):
        assert check_producer(amqp_producer) == {ACKNOWLEDGED: MESSAGES}
        assert check_consumer(amqp_consumer) == 2 * DELIVERED
    with speaking_to(lambda: StreamServer((), ())):
        assert check_producer(stream_producer) == {ACKNOWLEDGED: MESSAGES}
        assert check_consumer(stream_consumer) == 4


@pytest.mark.parametrize("size", [7, 17, 1 << 31])
def test_an_entry_whose_size_lies_is_never_handed_out(size: int) -> None:
    """Its bytes would lie outside what came, or be fewer than none."""
    whole = chunk([b"1234567", b"12345678"])
    lying = whole.replace(struct.pack(">I", 16), struct.pack(">I", size), 1)
    assert lying != whole
    with pytest.raises(OSError, match="unreadable"):
        chunks.read_chunk(lying, 0)
