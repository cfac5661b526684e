"""One producer and one consumer over two servers, which are sockets that play a server's part."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_stomp_drivers import OUTCOMES, PATIENCE_S, Consumer, Server, messages, plan, receipt, settle

from brokerlab.brokers.kit.spread import SpreadConsumer, SpreadProducer, parts_of, shared_out
from brokerlab.brokers.kit.stomp_drivers import StompProducer
from brokerlab.brokers.kit.stomp_frames import Frame, frame
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN, Block
from brokerlab.model.plan import Endpoint

SERVER_OF = [0, 1, 0]  # by partition
PENDING_BYTES = 1 << 20


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    made = [Server(), Server()]
    yield made
    for server in made:
        server.close()


def producer(servers: list[Server], pending_bytes: int = PENDING_BYTES) -> SpreadProducer:
    queues = ["/queue/a", "/queue/b", "/queue/c"]
    made = [StompProducer(plan(server), 0, queues, {}, OUTCOMES, pending_bytes) for server in servers]
    return SpreadProducer(made, SERVER_OF, StompProducer.path)


def block(partitions: list[int], first_index: int = 0, size: int = 8) -> Block:
    """Message i is the byte first_index + i, `size` times."""
    count = len(partitions)
    numbers = np.arange(first_index, first_index + count, dtype=np.uint8)
    offsets = np.arange(count, dtype=np.int64) * size
    return Block(
        np.repeat(numbers, size), offsets, np.full(count, size, np.int32), np.array(partitions, np.int32), first_index
    )


def sent(server: Server) -> list[tuple[bytes | None, int]]:
    return [(f.header(b"destination"), f.body[0]) for f in server.frames if f.command == b"SEND"]


def close(made: Any) -> None:
    made.close(time.monotonic_ns() + 10**10)


def test_every_message_goes_to_its_partitions_server_in_order_and_settles_under_its_own_number(
    servers: list[Server],
) -> None:
    for server in servers:
        server.answer = receipt
    made = producer(servers)
    assert made.send(block([0, 1, 2, 1, 0], first_index=50)) == 5
    assert settle(made, 5)[0] == dict.fromkeys(range(50, 55), ACKNOWLEDGED)  # type: ignore[arg-type]
    assert sent(servers[0]) == [(b"/queue/a", 50), (b"/queue/c", 52), (b"/queue/a", 54)]
    assert sent(servers[1]) == [(b"/queue/b", 51), (b"/queue/b", 53)]
    assert len(made.watched()) == 2
    close(made)


def test_a_full_client_stops_the_block_at_its_first_message_so_that_no_number_is_left_out(
    servers: list[Server],
) -> None:
    made = producer(servers, pending_bytes=3 * (1 << 20))
    taken = made.send(block([1, 0, 1, 0, 1, 0], size=1 << 20))
    assert taken == 4, "two messages of each server fit, and the fifth is the first that does not"
    for producer_ in made._producers:
        assert len(producer_._unconfirmed) == 2
    close(made)


def test_what_one_server_loses_is_unknown_and_the_others_messages_are_not(servers: list[Server]) -> None:
    servers[0].answer = receipt
    servers[1].answer = lambda _: None
    made = producer(servers)
    made.send(block([0, 1, 0, 1]))
    outcomes, errors = settle(made, 4)  # type: ignore[arg-type]
    assert outcomes == {0: ACKNOWLEDGED, 1: UNKNOWN, 2: ACKNOWLEDGED, 3: UNKNOWN}
    assert sum(errors.values()) == 2
    assert made.watched() == [] or len(made.watched()) == 2, (
        "half of the sockets would hide that one must be made again"
    )
    close(made)


def test_messages_of_all_servers_come_and_are_acknowledged_where_they_came_from(servers: list[Server]) -> None:
    def answer(received: Frame) -> bytes:
        return messages(4) if received.command == b"SEND" else b""

    consumers = [Consumer(server, "each") for server in servers]
    for server, consumer in zip(servers, consumers, strict=True):
        server.answer = answer
        assert consumer.link is not None
        consumer.link.write(frame("SEND", {}))
        consumer.waiting = 4
    made = SpreadConsumer(consumers, "path")
    assert made.remaining() == 8
    got, until = 0, time.monotonic() + PATIENCE_S
    while got < 8:
        deliveries = made.receive(3, time.monotonic_ns() + 10**9)
        assert len(deliveries) <= 3
        made.acknowledge(deliveries)
        got += len(deliveries)
        assert time.monotonic() < until
    for server, consumer in zip(servers, consumers, strict=True):
        assert consumer.link is not None
        consumer.link.call("BEGIN", {"transaction": "t"})
        assert len([f for f in server.frames if f.command == b"ACK"]) == 4
    consumers[1].waiting = None
    assert made.remaining() is None, "one that does not say what it holds makes the sum unknown"
    begun = time.monotonic()
    assert len(made.receive(3, time.monotonic_ns() + 50_000_000)) == 0
    assert time.monotonic() - begun >= 0.05
    close(made)


def test_an_endpoint_is_cut_into_equal_parts_with_the_option_that_lists_the_nodes() -> None:
    whole = Endpoint(addresses=("a:1", "b:2", "c:3", "d:4"), options={"web": "w1,w2,w3,w4", "pairs": "2"})
    first, second = parts_of(whole, "pairs", "web")
    assert (first.addresses, first.options["web"]) == (("a:1", "b:2"), "w1,w2")
    assert (second.addresses, second.options["web"]) == (("c:3", "d:4"), "w3,w4")
    assert parts_of(whole, "not given", "web") == [whole]
    assert shared_out([3, 4, 6], [first, second], lambda item, parts: item % parts) == [(first, [4, 6]), (second, [3])]
    assert shared_out([3], [first, second], lambda item, parts: item % parts) == [(second, [3])]


@pytest.mark.parametrize(("parts", "listed"), [("3", ""), ("0", ""), ("two", ""), ("2", "w1,w2,w3")])
def test_nodes_that_do_not_divide_are_refused(parts: str, listed: str) -> None:
    whole = Endpoint(addresses=("a:1", "b:2", "c:3", "d:4"), options={"web": listed, "pairs": parts})
    with pytest.raises(BrokerError, match="do not divide"):
        parts_of(whole, "pairs", "web")
