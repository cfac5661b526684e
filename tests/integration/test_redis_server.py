"""Valkey for real, one node: its version, errors in the middle of a block, cut connections, consumers that vanish."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from contract_load import agent_plan, cell_for, deadline, receive, wait_remaining
from contract_servers import Running, running_server

from brokerlab.brokers.redis import lag
from brokerlab.brokers.redis.broker import VALKEY
from brokerlab.brokers.redis.connection import Connection
from brokerlab.brokers.redis.keys import key_of
from brokerlab.brokers.redis.lag import RedisLag
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED
from brokerlab.model.plan import Durability
from brokerlab.model.subjects import parts_of


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    cell = cell_for("valkey", 1, Durability.L3)
    with running_server(VALKEY, cell, tmp_path_factory.mktemp("valkey")) as running:
        yield running


@pytest.fixture
def control(server: Running) -> Iterator[Connection]:
    connection = Connection(server.endpoint.addresses[0], None, "test")
    yield connection
    connection.close()


def kill_connections(control: Connection, name: str) -> int:
    """End the server's side of connections of this name, as a fault would."""
    told = control.call("CLIENT", "LIST")
    assert isinstance(told, bytes)
    ids = [line.split()[0].partition("=")[2] for line in told.decode().splitlines() if f" name={name} " in line]
    for each in ids:
        control.call("CLIENT", "KILL", "ID", each)
    return len(ids)


def test_valkey_reports_its_own_version_and_the_old_one_is_not_believed(running: Running, control: Connection) -> None:
    info = control.call("INFO", "server")
    assert isinstance(info, bytes)
    assert b"redis_version:7.2.4" in info, "the trap itself: should it go, this test may too"
    because = running.admin.durability((running.destination(),)).because
    assert because["version"] == f"Valkey {VALKEY.installation().version}"


def test_messages_refused_for_memory_are_rejected_and_the_others_stored(running: Running, control: Connection) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(100)
    sender.settle()
    control.call("CONFIG", "SET", "maxmemory", "1")
    try:
        sender.send(50)
        assert Counter(sender.settle().values()) == {ACKNOWLEDGED: 100, REJECTED: 50}
    finally:
        control.call("CONFIG", "SET", "maxmemory", "0")
    assert sender.errors == {"OOM": 50}
    sender.send(10)
    assert Counter(sender.settle().values()) == {ACKNOWLEDGED: 110, REJECTED: 50}
    (got,) = receive([running.consumer("g", name)], 110)
    assert len(got) == 110


def test_one_stream_of_the_wrong_type_rejects_only_its_own_messages(running: Running, control: Connection) -> None:
    name = running.destination()
    sender = running.sender(name)
    control.call("DEL", key_of(name, 1))
    control.call("SET", key_of(name, 1), "no stream")
    sender.send(20)
    outcomes = sender.settle()
    assert [outcomes[i] for i in range(20)] == [ACKNOWLEDGED, REJECTED] * 10
    assert sender.errors == {"WRONGTYPE": 10}


def test_a_producer_comes_back_after_its_connection_was_cut(running: Running, control: Connection) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(100)
    sender.settle()
    assert kill_connections(control, "producer-1-0") == 1
    sender.send(100)
    outcomes = sender.settle()
    acknowledged = sum(outcome == ACKNOWLEDGED for outcome in outcomes.values())
    assert acknowledged >= 100
    sender.send(100)
    assert [sender.settle()[i] for i in range(200, 300)] == [ACKNOWLEDGED] * 100


def test_a_consumer_heals_a_cut_connection_and_misses_nothing(running: Running, control: Connection) -> None:
    name = running.destination("g")
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(100)
    sender.settle()
    (first,) = receive([consumer], 50, most=50)
    assert kill_connections(control, "consumer-1-0") == 1
    assert kill_connections(control, "consumer-1-0-control") == 1
    sender.send(100)
    sender.settle()
    (rest,) = receive([consumer], 200 - len({m.identity for m in first}))
    assert len({m.identity for m in (*first, *rest)}) == 200
    wait_remaining(consumer, 0)


def test_what_a_vanished_consumer_held_is_claimed_by_another_and_marked(running: Running, control: Connection) -> None:
    name = running.destination("g")
    plan = agent_plan(running.cell, running.endpoint, (name,), running.group("g"), members=2)
    plan = plan.model_copy(update={"client_settings": {"claim_idle_ms": "500"}})
    vanishing = running.broker.consumer(plan, 0)
    sender = running.sender(name)
    sender.send(100)
    sender.settle()
    (held,) = receive([vanishing], 100, acknowledge=False)
    # Its connections end without a word, so it cannot give anything back.
    assert kill_connections(control, "consumer-1-0") == 1
    assert kill_connections(control, "consumer-1-0-control") == 1
    other = running.broker.consumer(plan, 1)
    try:
        (claimed,) = receive([other], 100)
        assert {m.identity for m in claimed} == {m.identity for m in held}
        assert all(m.redelivered for m in claimed)
        wait_remaining(other, 0)
    finally:
        other.close(deadline(5))
        vanishing.close(deadline(5))


def test_what_a_closed_consumer_held_comes_at_once_to_another(running: Running) -> None:
    """With the default of 30 s until a claim: closing has given it back."""
    name = running.destination("g")
    first = running.consumer("g", name, number=0, members=2)
    sender = running.sender(name)
    sender.send(100)
    sender.settle()
    receive([first], 100, acknowledge=False)
    first.close(deadline(5))
    begun = time.monotonic()
    (again,) = receive([running.consumer("g", name, number=1, members=2)], 100)
    assert time.monotonic() - begun < 25
    assert all(m.redelivered for m in again)


def freeze(process: psutil.Process) -> None:
    """Suspended in all its threads: the signal returns before that."""
    process.suspend()
    until = deadline()
    tasks = Path(f"/proc/{process.pid}/task")
    while {(task / "stat").read_text().rpartition(") ")[2][0] for task in tasks.iterdir()} != {"T"}:
        assert time.monotonic_ns() < until
        time.sleep(0.001)


def test_a_frozen_server_makes_nobody_wait_and_nothing_is_lost_or_doubled(running: Running) -> None:
    name = running.destination("g")
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(100)
    sender.settle()
    receive([consumer], 100)
    wait_remaining(consumer, 0)
    (node,) = running.cluster.nodes()
    process = psutil.Process(node.pid)
    try:
        freeze(process)
        begun = time.monotonic()
        taken = sender.producer.send(sender.block(50))
        sender.taken += taken
        sender.collect()
        assert len(consumer.receive(100, time.monotonic_ns() + 200_000_000)) == 0
        assert time.monotonic() - begun < 10, "its answers would have taken until it goes on"
        assert taken == 50
    finally:
        process.resume()
    assert Counter(sender.settle().values()) == {ACKNOWLEDGED: 150}
    (got,) = receive([consumer], 50)
    assert len(got) == 50
    wait_remaining(consumer, 0)


def test_a_deleted_stream_is_said_to_its_consumer(running: Running) -> None:
    name = running.destination("g")
    consumer = running.consumer("g", name)
    running.admin.delete((name,), ())
    with pytest.raises(Exception, match="cannot be read") as caught:
        receive([consumer], 1, seconds=30)
    assert type(caught.value).__name__ == "BrokerError"


def test_streams_that_tell_nothing_of_their_groups_cost_the_others_nothing(
    running: Running, control: Connection
) -> None:
    name, broken = running.destination("g"), running.destination("g")
    key, hole = key_of(name, 0), key_of(broken, 0)
    control.call("SET", "no stream", "and no business of ours")
    control.call("XADD", key, "*", "v", "x")
    ids = [control.call("XADD", hole, "*", "v", "x") for _ in range(3)]
    control.call("XDEL", hole, ids[1])  # type: ignore[arg-type]
    probe = RedisLag(running.endpoint, (), "cache")
    told = {(parts_of(r.subject)[1:], r.metric): r.value for r in probe.read()}
    group = running.group("g")
    assert told[(group, key, "0"), "lag_messages"] == 1
    assert told[(hole,), "messages_in_total"] == 3
    assert told[(hole,), "messages"] == 2
    assert ((group, hole, "0"), "lag_messages") not in told, (
        "a hole behind the group's position: the server cannot tell"
    )
    assert list(probe.missing()) == [f"group {group} of {hole}"]
    assert not any("no stream" in names for names, _ in told)
    control.call("DEL", hole)
    assert hole not in {parts_of(r.subject)[-1] for r in probe.read()}
    assert probe.missing() == {}


def test_keys_are_looked_through_in_parts_and_all_streams_are_found_in_the_end(
    running: Running, control: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = running.destination("g")
    control.call("MSET", *(word for n in range(5000) for word in (f"filler-{n}", "x")))
    monkeypatch.setattr(lag, "SCANS", 1)
    monkeypatch.setattr(lag, "KEYS_AT_ONCE", 100)
    master = lag.Master(running.endpoint.addresses[0], None)
    looks = 0
    while not {key_of(name, p).encode() for p in range(2)} <= set(master.streams.now()):
        master.streams.forget()
        looks += 1
        assert looks < 1000
    assert looks > 0, "one look was enough: it cannot have been a part"
    master.close()
