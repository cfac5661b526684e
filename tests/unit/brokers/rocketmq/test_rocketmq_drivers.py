"""The drivers against a server that answers as real ones do too rarely."""

from __future__ import annotations

import itertools
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rocketmq_stub import Request, Stub, answer, stored

sys.path.insert(0, str(Path(__file__).parents[3] / "contract"))
from contract_load import Sender, deadline

from brokerlab.brokers.rocketmq.broker import BROKER
from brokerlab.brokers.rocketmq.drivers import OUTCOMES
from brokerlab.brokers.rocketmq.remoting import CODES, COMMIT_OFFSET, MAX_OFFSET, PULL, QUERY_OFFSET, SEND, SEND_BATCH
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN

Made = Callable[[Callable[[Request], bytes]], Stub]


@pytest.fixture
def stub() -> Iterator[Made]:
    made: list[Stub] = []

    def make(reply: Callable[[Request], bytes]) -> Stub:
        made.append(Stub(reply))
        return made[-1]

    yield make
    for one in made:
        one.close()


def until(condition: Callable[[], bool], step: Callable[[], object]) -> None:
    latest = deadline(60)
    while not condition():
        step()
        assert time.monotonic_ns() < latest


def messages_in(sent: Request) -> int:
    if sent.code == SEND:
        return 1
    at, count = 0, 0
    while at < len(sent.body):
        at += struct.unpack_from(">i", sent.body, at)[0]
        count += 1
    return count


@pytest.mark.parametrize(
    ("code", "outcome"),
    [(0, ACKNOWLEDGED), (1, UNKNOWN), (2, REJECTED), (10, UNKNOWN), (11, UNKNOWN), (12, UNKNOWN), (13, REJECTED),
     (14, REJECTED), (17, REJECTED), (999, UNKNOWN)],
)  # fmt: skip
def test_a_timeout_is_never_a_refusal_and_being_busy_always_is(stub: Made, code: int, outcome: int) -> None:
    """RocketMQ stores what it reports as timed out (10, 12) or without its slave (11)."""
    server = stub(lambda request: answer(request.number, code, remark="something with 213 ms in it"))
    sender = Sender(BROKER.producer(server.plan(), 0), 2)
    sender.send(20)
    assert Counter(sender.settle().values()) == {outcome: 20}
    assert sender.errors == ({} if code == 0 else {CODES.get(code, "code 999"): 20})
    sender.producer.close(deadline(2))


def test_every_code_that_has_a_name_has_an_outcome() -> None:
    assert OUTCOMES.names == set(CODES.values())


def test_a_queue_has_one_request_under_way_and_what_waits_goes_with_the_next(stub: Made) -> None:
    server = stub(lambda _: b"")
    sender = Sender(BROKER.producer(server.plan(batch_messages="30"), 0), 2)
    for _ in range(5):
        assert sender.producer.send(sender.block(20)) == 20
        sender.taken += 20
    until(lambda: len(server.of(SEND_BATCH)) == 2, sender.collect)
    first = server.of(SEND_BATCH)
    assert {request.fields["e"] for request in first} == {"0", "1"}
    assert [messages_in(request) for request in first] == [10, 10]
    client = server.clients[0]
    answered = 0
    while len(sender.outcomes) < 100:
        waiting = server.of(SEND, SEND_BATCH)[answered:]
        assert len(waiting) <= 2, "one for each queue"
        for request in waiting:
            client.sendall(answer(request.number))
        answered += len(waiting)
        sender.collect()
    assert sorted(map(messages_in, server.of(SEND_BATCH))) == [10, 10, 10, 10, 30, 30]
    sender.producer.close(deadline(2))


def test_a_message_alone_goes_as_it_is(stub: Made) -> None:
    server = stub(lambda request: answer(request.number))
    sender = Sender(BROKER.producer(server.plan(batch_messages="1"), 0), 2)
    block = sender.block(3)
    sender.send_block(block)
    sender.settle()
    assert sorted(request.body for request in server.of(SEND)) == sorted(block.payloads())
    assert {request.fields["m"] for request in server.of(SEND)} == {"false"}
    sender.producer.close(deadline(2))


def test_more_than_may_wait_is_not_taken(stub: Made) -> None:
    server = stub(lambda _: b"")
    sender = Sender(BROKER.producer(server.plan(pending_bytes="1000", batch_bytes="500"), 0), 2)
    block = sender.block(100)
    assert 1 <= sender.producer.send(block) < 20
    assert all(len(request.body) < 1000 for request in server.of(SEND, SEND_BATCH))
    sender.producer.close(deadline(2))


def test_a_damaged_answer_makes_open_messages_unknown_and_the_producer_goes_on(stub: Made) -> None:
    numbers = itertools.count()
    server = stub(lambda request: b"\xff" * 8 if next(numbers) == 0 else answer(request.number))
    sender = Sender(BROKER.producer(server.plan(), 0), 2)
    sender.send(10)
    assert set(sender.settle().values()) == {UNKNOWN}
    sender.send(10)
    assert Counter(sender.settle().values()) == {UNKNOWN: 10, ACKNOWLEDGED: 10}
    sender.producer.close(deadline(2))


def test_a_server_that_refuses_the_login_is_a_broker_error(stub: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    server = stub(lambda _: b"")
    monkeypatch.setattr("rocketmq_stub.answer", lambda number: answer(number, 16, remark="check signature failed"))
    with pytest.raises(BrokerError, match="check signature failed") as told:
        BROKER.producer(server.plan(), 0)
    assert "check user and password" in str(told.value)


class Queue:
    """What the stub keeps of each queue."""

    def __init__(self, messages: int) -> None:
        self.log = [b"%06d" % number for number in range(messages)]
        self.committed: int | None = None

    def pull(self, request: Request) -> bytes:
        first = int(request.fields["queueOffset"])
        if first >= len(self.log):
            return b""  # held until a message comes
        some = [stored(body, first + i) for i, body in enumerate(self.log[first : first + 10])]
        return answer(request.number, body=b"".join(some), nextBeginOffset=first + len(some))


def serving(queues: list[Queue]) -> Callable[[Request], bytes]:
    def reply(request: Request) -> bytes:
        queue = queues[int(request.fields["queueId"])]
        if request.code == PULL:
            return queue.pull(request)
        if request.code == QUERY_OFFSET and queue.committed is None:
            return answer(request.number, 22)
        if request.code == QUERY_OFFSET:
            return answer(request.number, offset=queue.committed)
        if request.code == COMMIT_OFFSET:
            queue.committed = int(request.fields["commitOffset"])
            return answer(request.number)
        return (
            answer(request.number, offset=len(queue.log)) if request.code == MAX_OFFSET else answer(request.number, 3)
        )

    return reply


def test_a_group_reads_everything_once_and_commits_what_it_acknowledged(stub: Made) -> None:
    queues = [Queue(35), Queue(20)]
    server = stub(serving(queues))
    consumer = BROKER.consumer(server.plan("g"), 0)
    assert consumer.remaining() == 55
    got = 0
    while got < 55:
        some = consumer.receive(7, deadline(60))
        got += len(some)
        consumer.acknowledge(some)
    consumer.close(deadline(10))
    assert [queue.committed for queue in queues] == [35, 20]
    again = BROKER.consumer(server.plan("g"), 0)
    assert again.remaining() == 0
    assert len(again.receive(10, deadline(0.05))) == 0
    again.close(deadline(2))


def test_a_second_commit_waits_for_the_first(stub: Made) -> None:
    """A broker may execute the second of two requests first, and the group would go back."""
    queues = [Queue(40), Queue(0)]
    serve = serving(queues)
    server = stub(lambda request: b"" if request.code == COMMIT_OFFSET else serve(request))
    consumer = BROKER.consumer(server.plan("g"), 0)
    got = 0
    while got < 40:
        some = consumer.receive(10, deadline(60))
        got += len(some)
        consumer.acknowledge(some)
    until(lambda: bool(server.of(COMMIT_OFFSET)), lambda: consumer.receive(1, 0))
    (first,) = server.of(COMMIT_OFFSET)
    assert first.fields["commitOffset"] == "10"
    server.clients[0].sendall(answer(first.number))
    until(lambda: len(server.of(COMMIT_OFFSET)) == 2, lambda: consumer.receive(1, 0))
    assert server.of(COMMIT_OFFSET)[1].fields["commitOffset"] == "40"
    consumer.close(deadline(0.1))


def test_damaged_messages_come_again_over_a_new_connection(stub: Made) -> None:
    queues = [Queue(10), Queue(0)]
    serve, pulls = serving(queues), itertools.count()

    def reply(request: Request) -> bytes:
        if request.code == PULL and request.fields["queueId"] == "0" and next(pulls) == 0:
            return answer(request.number, body=stored(b"x", 0)[:-20], nextBeginOffset=1)
        return serve(request)

    server = stub(reply)
    consumer = BROKER.consumer(server.plan("g"), 0)
    some = consumer.receive(100, deadline(60))
    assert some.positions.tolist() == list(range(10))
    assert len(server.clients) == 2
    consumer.close(deadline(2))


def test_a_consumer_stops_pulling_while_it_holds_enough(stub: Made) -> None:
    queues = [Queue(1000), Queue(0)]
    server = stub(serving(queues))
    consumer = BROKER.consumer(server.plan("g", prefetch="30"), 0)
    until(lambda: len(server.of(PULL)) >= 3, lambda: consumer.remaining())
    for _ in range(5):
        consumer.remaining()
    pulled = [request for request in server.of(PULL) if request.fields["queueId"] == "0"]
    assert [request.fields["queueOffset"] for request in pulled] == ["0", "10", "20"]
    consumer.receive(10, deadline(60))
    until(lambda: len(server.of(PULL)) == 5, lambda: consumer.remaining())
    consumer.close(deadline(2))
