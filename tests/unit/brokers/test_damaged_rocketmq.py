"""RocketMQ's drivers and a server whose answers are damaged: outcomes and lost connections, never another error."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from damaged_wire import DAMAGES, MESSAGES, Damage, Server, check_consumer, check_producer, speaking_to
from hypothesis import given

sys.path.insert(0, str(Path(__file__).parents[2] / "contract"))
sys.path.insert(0, str(Path(__file__).parent / "rocketmq"))
from contract_load import agent_plan, cell_for
from rocketmq_stub import answer, stored

from brokerlab.brokers.rocketmq import remoting
from brokerlab.brokers.rocketmq.broker import BROKER
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN
from brokerlab.model.plan import AgentPlan, Durability, Endpoint


class RocketServer(Server):
    """Stores what is sent. A pull finds two messages, the next one nothing. Damage to what frames carry is in turn to
    the header and to the body."""

    def __init__(self, inside: Sequence[Damage] = (), outside: Sequence[Damage] = (), offset: object = 0) -> None:
        super().__init__(inside, outside)
        self._offset = offset
        self._pulled = 0

    def answers(self, data: bytes) -> list[bytes]:
        found, at = [], 0
        while at < len(data):
            total, header_bytes = struct.unpack_from(">II", data, at)
            about = json.loads(data[at + 8 : at + 8 + header_bytes])
            found += [self._resized(frame) for frame in self._answer(about["code"], about["opaque"])]
            at += 4 + total
        return found

    def _resized(self, frame: bytes) -> bytes:
        """With lengths that are true also of what is damaged."""
        _, header_bytes = struct.unpack_from(">II", frame)
        header, body = self.damaged(frame[8 : 8 + header_bytes]), self.damaged(frame[8 + header_bytes :])
        return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body

    def _answer(self, code: int, number: int) -> list[bytes]:
        if code == remoting.PULL:
            self._pulled += 1
            if self._pulled > 2:
                return []
            body = stored(b"12345678", 0) + stored(b"12345678", 1)
            return [answer(number, body=body, nextBeginOffset=2)]
        return [answer(number, offset=self._offset)]


def plan(group: str | None = None) -> AgentPlan:
    cell = cell_for("rocketmq", 1, Durability.L4)
    return agent_plan(cell, Endpoint(addresses=("server:1",)), ("t",), group, "each")


@given(DAMAGES, DAMAGES)
def test_a_producer_takes_any_damage_for_a_lost_connection(inside: list[Damage], outside: list[Damage]) -> None:
    with speaking_to(lambda: RocketServer(inside, outside)):
        check_producer(lambda: BROKER.producer(plan(), 0))


@given(DAMAGES, DAMAGES)
def test_a_consumer_takes_any_damage_for_a_lost_connection(inside: list[Damage], outside: list[Damage]) -> None:
    with speaking_to(lambda: RocketServer(inside, outside)):
        check_consumer(lambda: BROKER.consumer(plan("g"), 0))


def test_the_server_of_these_tests_is_understood_when_nothing_is_damaged() -> None:
    with speaking_to(RocketServer):
        assert check_producer(lambda: BROKER.producer(plan(), 0)) == {ACKNOWLEDGED: MESSAGES}
        assert check_consumer(lambda: BROKER.consumer(plan("g"), 0)) == 4


def test_an_answer_whose_code_is_no_number_loses_the_connection() -> None:
    broken = [bytes, bytes, lambda header: header.replace(b'"code": 0', b'"code": 1e999')]  # after the heartbeat's
    with speaking_to(lambda: RocketServer(broken)):
        assert check_producer(lambda: BROKER.producer(plan(), 0))[UNKNOWN] > 0


@pytest.mark.parametrize("offset", ["9" * 5000, 1 << 63, -(1 << 63) - 1, "many"])
def test_an_offset_that_fits_no_column_tells_no_backlog(offset: object) -> None:
    with speaking_to(RocketServer):
        consumer = BROKER.consumer(plan("g"), 0)
        consumer._link._wire._server._offset = offset  # type: ignore[attr-defined]
        assert consumer.remaining() is None
        consumer.close(0)
