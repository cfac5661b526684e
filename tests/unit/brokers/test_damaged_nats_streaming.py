"""NATS Streaming's drivers and a server whose answers are damaged: outcomes and lost connections, never another error."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from damaged_wire import DAMAGES, MESSAGES, Damage, Server, check_consumer, check_producer, speaking_to
from hypothesis import given

sys.path.insert(0, str(Path(__file__).parents[2] / "contract"))
from contract_load import agent_plan, cell_for

from brokerlab.brokers.kit.protobuf import fields_of, message, text_in, varint
from brokerlab.brokers.nats_streaming import monitoring
from brokerlab.brokers.nats_streaming.consumer import StreamingConsumer
from brokerlab.brokers.nats_streaming.monitoring import Monitoring
from brokerlab.brokers.nats_streaming.producer import StreamingProducer
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN
from brokerlab.model.plan import AgentPlan, Durability, Endpoint

_PUBLISHED = re.compile(rb"PUB ([^ ]+) (?:([^ ]+) )?(\d+)\r\n")
_SUBSCRIBED = re.compile(rb"SUB ([^ ]+) (\d+)\r\n")
INFO = b'INFO {"max_payload": 1048576, "tls_required": false}\r\n'
FIRST = 1  # the sequence of the first message


class StreamingServer(Server):
    """Acknowledges what is published; a subscription gets two messages. `tag` is put in place of the number that an
    answer to a message is sent to."""

    def __init__(
        self,
        inside: Sequence[Damage] = (),
        outside: Sequence[Damage] = (),
        info: bytes = INFO,
        sequence: bytes = varint(FIRST),
        tag: bytes = b"",
    ) -> None:
        super().__init__(inside, outside)
        self._info, self._sequence, self._tag = info, sequence, tag
        self._subscriptions: dict[bytes, bytes] = {}

    def greeting(self) -> bytes:
        return next(self._outside, lambda whole: whole)(self._info)

    def answers(self, data: bytes) -> list[bytes]:
        found, at = [], 0
        while at < len(data):
            published, subscribed = _PUBLISHED.match(data, at), _SUBSCRIBED.match(data, at)
            if published is not None:
                begin, at = published.end(), published.end() + int(published[3]) + 2
                found += self._published(published[1], published[2] or b"", data[begin : at - 2])
                continue
            if subscribed is not None:
                self._subscriptions[subscribed[1]] = subscribed[2]
            end = data.index(b"\r\n", at) + 2
            found += [b"PONG\r\n"] if data[at:end] == b"PING\r\n" else []
            at = end
        return found

    def _published(self, subject: bytes, reply: bytes, payload: bytes) -> list[bytes]:
        if subject.startswith(b"_STAN.discover."):
            return [self._to(reply, message([(1, "pub"), (2, "sub"), (3, "unsub"), (4, "close")]))]
        if subject.startswith(b"pub."):
            reply = reply[: reply.rindex(b".") + 1] + self._tag if self._tag else reply
            return [self._to(reply, message([(1, "guid")]))]
        if subject == b"sub":
            inbox = text_in(fields_of(payload), 4).encode()
            pushed = b"\x08" + self._sequence + message([(2, "t.0"), (4, b"12345678")])
            return [self._to(reply, message([(2, "acks")])), self._to(inbox, pushed), self._to(inbox, pushed)]
        return []

    def _to(self, subject: bytes, content: bytes) -> bytes:
        content = self.damaged(content)
        wildcard = subject[: subject.rindex(b".") + 1] + b"*"
        number = self._subscriptions.get(subject) or self._subscriptions.get(wildcard, b"0")
        return b"MSG %b %b %d\r\n%b\r\n" % (subject, number, len(content), content)


def plan(group: str | None = None) -> AgentPlan:
    cell = cell_for("nats-streaming", 1, Durability.L4)
    return agent_plan(cell, Endpoint(addresses=("server:1",)), ("t",), group, "each")


def producer() -> StreamingProducer:
    return StreamingProducer(plan(), 0)


def consumer() -> StreamingConsumer:
    return StreamingConsumer(plan("g"), 0)


@given(DAMAGES, DAMAGES)
def test_a_producer_takes_any_damage_for_a_lost_connection(inside: list[Damage], outside: list[Damage]) -> None:
    with speaking_to(lambda: StreamingServer(inside, outside)):
        check_producer(producer)


@given(DAMAGES, DAMAGES)
def test_a_consumer_takes_any_damage_for_a_lost_connection(inside: list[Damage], outside: list[Damage]) -> None:
    with speaking_to(lambda: StreamingServer(inside, outside)):
        check_consumer(consumer)


def test_the_server_of_these_tests_is_understood_when_nothing_is_damaged() -> None:
    with speaking_to(StreamingServer):
        assert check_producer(producer) == {ACKNOWLEDGED: MESSAGES}
        assert check_consumer(consumer) == 4


@pytest.mark.parametrize("tag", [b"9" * 5000, b"9223372036854775808"])
def test_an_answer_to_a_number_that_was_never_given_out_loses_the_connection(tag: bytes) -> None:
    with speaking_to(lambda: StreamingServer(tag=tag)):
        assert check_producer(producer) == {UNKNOWN: MESSAGES}


@pytest.mark.parametrize("number", [1 << 63, (1 << 64) - 1, 1 << 64, (1 << 70) - 1])
def test_a_sequence_that_fits_no_column_loses_the_connection(number: int) -> None:
    with speaking_to(lambda: StreamingServer(sequence=varint(number))):
        assert check_consumer(consumer) == 0


@pytest.mark.parametrize(
    "said", [b"null", b"[]", b"1e999", b"-1", b"0", b'"many"', b"9" * 5000, b"[" * 60_000, b"4294967296"]
)
def test_a_greeting_that_cannot_be_is_refused(said: bytes) -> None:
    with speaking_to(lambda: StreamingServer(info=INFO.replace(b"1048576", said))):
        for make in (producer, consumer):
            with pytest.raises(BrokerError):
                make()


@pytest.mark.parametrize(
    "page", [[], "text", None, {}, {"last_seq": "x"}, {"last_seq": float("inf")}, {"last_seq": 1, "subscriptions": [7]}]
)
def test_a_monitoring_page_that_is_another_one_tells_no_backlog(page: object) -> None:
    told = Monitoring(Endpoint(addresses=("server:1",), options={"monitoring": "http://server"}))
    with patch.object(monitoring, "read_json", lambda _: page):
        assert told.waiting(["t.0"], "g") is None
