"""The drivers against a server that answers as real ones do too rarely."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from redis_stub import ID, OK, stub_server

sys.path.insert(0, str(Path(__file__).parents[3] / "contract"))
from contract_load import Sender, agent_plan, cell_for, deadline

from brokerlab.brokers.redis.admin import RedisAdmin, server_version
from brokerlab.brokers.redis.broker import REDIS
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN
from brokerlab.model.plan import Durability, Endpoint


def sender_on(address: str, level: Durability) -> Sender:
    cell = cell_for("redis", 3, level)
    return Sender(REDIS.producer(agent_plan(cell, Endpoint(addresses=(address,)), ("d",)), 0), cell.partitions)


def settle(sender: Sender, count: int) -> Counter[int]:
    try:
        sender.send(count)
        return Counter(sender.settle().values())
    finally:
        sender.producer.close(deadline(5))


def test_an_error_in_the_middle_of_a_chunk_settles_its_own_message_only() -> None:
    numbers = itertools.count()

    def answer(command: list[bytes]) -> bytes:
        return b"-OOM command not allowed\r\n" if command[0] == b"XADD" and next(numbers) == 7 else ID

    with stub_server(answer) as address:
        sender = sender_on(address, Durability.L4)
        assert settle(sender, 20) == {ACKNOWLEDGED: 19, REJECTED: 1}
    assert sender.outcomes[7] == REJECTED
    assert sender.errors == {"OOM": 1}


@pytest.mark.parametrize(("level", "word"), [(Durability.L2, b"WAIT"), (Durability.L1, b"WAITAOF")])
def test_fewer_replicas_than_asked_make_messages_unknown(level: Durability, word: bytes) -> None:
    few, enough = (b":0\r\n", b":1\r\n") if word == b"WAIT" else (b"*2\r\n:1\r\n:0\r\n", b"*2\r\n:1\r\n:1\r\n")
    for reply, outcome in ((few, UNKNOWN), (enough, ACKNOWLEDGED)):
        asked: list[list[bytes]] = []

        def answer(command: list[bytes], reply: bytes = reply, asked: list[list[bytes]] = asked) -> bytes:
            if command[0] == b"XADD":
                return ID
            asked.append(command)
            return reply

        with stub_server(answer) as address:
            assert settle(sender_on(address, level), 10) == {outcome: 10}
        assert asked
        assert all(command[0] == word for command in asked)


def test_a_message_is_not_acknowledged_before_the_wait_behind_it_is_answered() -> None:
    """The server stores everything and then goes away instead of answering WAIT."""

    def answer(command: list[bytes]) -> bytes | None:
        return ID if command[0] == b"XADD" else None

    with stub_server(answer) as address:
        sender = sender_on(address, Durability.L2)
        assert settle(sender, 10) == {UNKNOWN: 10}
    assert sender.errors == {"connection lost": 10}


def test_a_refusal_stays_a_refusal_though_the_wait_fails() -> None:
    def answer(command: list[bytes]) -> bytes:
        return b"-READONLY You can't write against a read only replica.\r\n" if command[0] == b"XADD" else b":0\r\n"

    with stub_server(answer) as address:
        assert settle(sender_on(address, Durability.L2), 5) == {REJECTED: 5}


def test_a_connection_cut_among_the_replies_leaves_the_rest_unknown() -> None:
    numbers = itertools.count()

    def answer(_command: list[bytes]) -> bytes | None:
        return ID if next(numbers) < 6 else None

    with stub_server(answer) as address:
        sender = sender_on(address, Durability.L4)
        assert settle(sender, 20) == {ACKNOWLEDGED: 6, UNKNOWN: 14}
    assert [i for i, o in sender.outcomes.items() if o == ACKNOWLEDGED] == list(range(6))


def test_nonsense_on_the_wire_is_a_lost_connection() -> None:
    with stub_server(lambda _command: b"!nonsense\r\n") as address:
        assert settle(sender_on(address, Durability.L4), 5) == {UNKNOWN: 5}


def test_a_web_server_at_the_address_is_the_brokers_failure() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as web:
        serving = Thread(target=web.serve_forever)
        serving.start()
        address = f"127.0.0.1:{web.server_address[1]}"
        try:
            with pytest.raises(BrokerError, match=rf"{address} does not speak Redis's protocol.*check the address"):
                RedisAdmin(Endpoint(addresses=(address,)), cell_for("redis", 1, Durability.L4))
        finally:
            web.shutdown()
            serving.join()


INFO_6 = "# Server\r\nredis_version:6.2.14\r\n"
INFO_VALKEY = {"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.1"}


def old_server(command: list[bytes]) -> bytes:
    """As Redis 6.2: it knows WAIT and not WAITAOF."""
    if command[0] == b"INFO":
        return b"$%d\r\n%b\r\n" % (len(INFO_6), INFO_6.encode())
    if command[0] == b"COMMAND":
        return b"*1\r\n*6\r\n$4\r\nwait\r\n:3\r\n*1\r\n+noscript\r\n:0\r\n:0\r\n:0\r\n"
    return OK


def test_a_server_without_waitaof_is_refused_before_the_run() -> None:
    with stub_server(old_server) as address:
        endpoint = Endpoint(addresses=(address,))
        with pytest.raises(BrokerError, match=r"Redis 6\.2\.14.* has no WAITAOF") as caught:
            RedisAdmin(endpoint, cell_for("redis", 3, Durability.L1))
        assert caught.value.hint
        RedisAdmin(endpoint, cell_for("redis", 3, Durability.L2)).close()


def test_valkeys_own_version_is_read_and_not_the_one_it_keeps_for_old_clients() -> None:
    assert server_version(INFO_VALKEY) == "Valkey 8.1.1"
    assert server_version({"redis_version": "8.0.2"}) == "Redis 8.0.2"
