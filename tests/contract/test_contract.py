"""What every broker must do, or must say in its Capabilities that it cannot."""

from __future__ import annotations

import time
from collections import Counter
from select import POLLIN, POLLOUT

import pytest
from contract_load import Received, deadline, receive, unique, unpack, wait_remaining
from contract_servers import Running

from brokerlab.agent.pacer import waiter
from brokerlab.brokers.contract import ActsInC, Watchable
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.native import library
from brokerlab.workload.capabilities import capability_problems

MESSAGES = 1000


def identities(messages: list[Received]) -> set[tuple[int, int, int]]:
    return {m.identity for m in messages}


def lanes(messages: list[Received]) -> dict[tuple[int, int], list[int]]:
    found: dict[tuple[int, int], list[int]] = {}
    for m in messages:
        found.setdefault((m.producer, m.partition), []).append(m.sequence)
    return found


def test_every_message_sent_is_acknowledged_exactly_once(running: Running) -> None:
    sender = running.sender(running.destination())
    sender.send(MESSAGES)
    assert Counter(sender.settle().values()) == {ACKNOWLEDGED: MESSAGES}
    sender.collect()
    assert len(sender.outcomes) == MESSAGES
    assert sender.errors == {}


def test_a_block_of_no_messages_is_taken_as_such(running: Running) -> None:
    sender = running.sender(running.destination())
    assert sender.producer.send(sender.block(0)) == 0
    assert len(sender.producer.settled()) == 0


def test_an_answer_is_timed_when_it_comes_even_if_it_is_asked_for_later(running: Running) -> None:
    """By sockets that say so, by a thread of the library that notes it, or by ticks in C, which watch the client."""
    sender = running.sender(running.destination())
    producer = sender.producer
    if not isinstance(producer, Watchable):
        assert isinstance(producer, ActsInC) or library() is None, "it would be asked 5,000 times a second from Python"
        return
    wait, told_before_asked = waiter(), False
    for _ in range(20):
        sender.send(1)
        while len(sender.outcomes) < sender.taken:
            until, sockets = deadline(), producer.watched()
            if sockets:
                events = [(number, POLLIN | POLLOUT if unsent else POLLIN) for number, unsent in sockets]
                assert wait(events, until) < until, "no socket said that an answer had come"
                sender.collect()
                continue
            time.sleep(0.05)
            asked_ns = time.monotonic_ns()
            settled = producer.settled()
            told_before_asked |= bool((settled.at_mono_ns < asked_ns).any())
            sender.outcomes.update(zip(settled.indices.tolist(), settled.outcomes.tolist(), strict=True))
    assert Counter(sender.outcomes.values()) == {ACKNOWLEDGED: 20}
    assert told_before_asked or producer.watched(), "it has no socket to wait for and notes no times"


def test_the_senders_buffer_may_be_overwritten_as_soon_as_send_returns(running: Running) -> None:
    name = running.destination("g")
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    block = sender.block(200)
    sender.send_block(block)
    block.buffer[:] = 0xEE
    sender.settle()
    (got,) = receive([consumer], 200)
    assert all(m.intact for m in got)


def test_messages_arrive_intact_once_and_in_order_of_their_lane(running: Running) -> None:
    name = running.destination("g")
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(MESSAGES)
    sender.settle()
    (got,) = receive([consumer], MESSAGES)
    assert len(got) == MESSAGES
    assert all(m.intact for m in got)
    assert not any(m.redelivered for m in got)
    each, found = MESSAGES // running.cell.partitions, lanes(got)
    if not running.broker.capabilities.ordered:
        found = {lane: sorted(sequences) for lane, sequences in found.items()}
    assert found == {(0, p): list(range(each)) for p in range(running.cell.partitions)}


def test_messages_of_many_sizes_arrive_intact(running: Running) -> None:
    name = running.destination("g")
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sizes = (48, 56, 200, 4096, 100_000)
    for size in sizes:
        sender.send_block(sender.block(10, message_bytes=size))
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    (got,) = receive([consumer], 10 * len(sizes))
    assert all(m.intact for m in got)


def test_several_destinations_are_told_apart_by_the_partition_number(running: Running) -> None:
    names = running.destination("g", name="a"), running.destination("g", name="b")
    consumer = running.consumer("g", *names)
    sender = running.sender(*names)
    sender.send(400)
    sender.settle()
    (got,) = receive([consumer], 400)
    assert Counter(m.partition for m in got) == dict.fromkeys(range(2 * running.cell.partitions), 100)


def test_positions_grow_within_a_lane_where_the_broker_has_them(running: Running) -> None:
    name = running.destination("g")
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(200)
    sender.settle()
    (got,) = receive([consumer], 200)
    if not running.broker.capabilities.positions:
        assert {m.position for m in got} == {-1}
        return
    for partition in range(running.cell.partitions):
        positions = [m.position for m in got if m.partition == partition]
        assert min(positions) >= 0
        assert positions == sorted(set(positions))


def test_receive_gives_no_more_than_asked_and_returns_at_its_deadline(running: Running) -> None:
    name = running.destination("g")
    consumer = running.consumer("g", name)
    until = time.monotonic_ns() + 50_000_000
    assert len(consumer.receive(10, until)) == 0
    assert time.monotonic_ns() >= until
    sender = running.sender(name)
    sender.send(50)
    sender.settle()
    (got,) = receive([consumer], 50, most=7)
    assert len(got) == 50


def test_consumers_of_one_group_share_the_messages(running: Running) -> None:
    assert running.broker.capabilities.competing_consumers, "a broker without this needs its own assertion here"
    name = running.destination("g")
    consumers = [running.consumer("g", name, number=n, members=2) for n in range(2)]
    _wait_until_shared(running, consumers, name)
    sender = running.sender(name, number=1)
    sender.send(MESSAGES)
    sender.settle()
    got = [[m for m in some if m.producer == 1] for some in receive(consumers, MESSAGES)]
    assert all(some for some in got), "one consumer received nothing"
    assert len(identities(got[0]) | identities(got[1])) == MESSAGES
    assert not identities(got[0]) & identities(got[1])


def _wait_until_shared(running: Running, consumers: list, name: str) -> None:  # type: ignore[type-arg]
    """Until each consumer has had a message: some brokers take seconds to share partitions out."""
    sender = running.sender(name, number=0)
    until = deadline()
    seen: set[int] = set()
    while len(seen) < len(consumers):
        sender.send(20)
        for number, consumer in enumerate(consumers):
            some = consumer.receive(500, time.monotonic_ns() + 100_000_000)
            consumer.acknowledge(some)
            if len(some):
                seen.add(number)
            if some.release is not None:
                some.release()
        assert time.monotonic_ns() < until, f"only {seen} received anything"
    sender.settle()
    wait_until = deadline()
    while any(consumer.remaining() for consumer in consumers):
        for consumer in consumers:
            some = consumer.receive(500, time.monotonic_ns() + 20_000_000)
            consumer.acknowledge(some)
            if some.release is not None:
                some.release()
        assert time.monotonic_ns() < wait_until


def test_independent_groups_each_receive_everything(running: Running) -> None:
    if not running.broker.capabilities.groups:
        _has_one_group_and_refuses_two(running)
        return
    name = running.destination("g1", "g2")
    consumers = [running.consumer(g, name) for g in ("g1", "g2")]
    sender = running.sender(name)
    sender.send(300)
    sender.settle()
    for consumer in consumers:
        (got,) = receive([consumer], 300)
        assert len(identities(got)) == len(got) == 300


def _has_one_group_and_refuses_two(running: Running) -> None:
    two = running.cell.consumers.model_copy(update={"groups": 2})
    asked = running.cell.model_copy(update={"consumers": two})
    assert ("consumers", "groups") in [p.field for p in capability_problems(asked, running.broker)]
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(100)
    sender.settle()
    got = receive([running.consumer("g", name), running.consumer("other", name)], 100)
    assert not identities(got[0]) & identities(got[1]), "both names mean the one group there is"


def test_a_new_group_reads_from_the_beginning_where_replay_is_offered(running: Running) -> None:
    if not running.broker.capabilities.replay:
        _begins_with_what_is_published_after_it(running)
        return
    name = running.destination()
    sender = running.sender(name)
    sender.send(300)
    sender.settle()
    (got,) = receive([running.consumer("late", name)], 300)
    assert len(got) == 300


def test_a_group_made_before_the_messages_gets_them_all_though_its_consumer_comes_after(running: Running) -> None:
    assert running.broker.capabilities.keeps_backlog, "a broker without this needs its own assertion here"
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(2000)
    sender.settle()
    sender.producer.close(deadline(10))
    (got,) = receive([running.consumer("g", name)], 2000)
    assert len(identities(got)) == len(got) == 2000
    assert all(m.intact and not m.redelivered for m in got)


def _begins_with_what_is_published_after_it(running: Running) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(100)
    sender.settle()
    if not running.broker.capabilities.groups:
        (waited,) = receive([running.consumer("late", name)], 100)
        assert len(waited) == 100, "there is one group, however late its consumer comes"
        return
    late = running.consumer("late", name)
    sender.send(60)
    sender.settle()
    (got,) = receive([late], 60)
    assert min(m.sequence for m in got) == 100 // running.cell.partitions
    (everything,) = receive([running.consumer("g", name)], 160)
    assert len(everything) == 160


def test_what_was_not_acknowledged_comes_again_and_what_was_does_not(running: Running) -> None:
    assert running.broker.capabilities.redelivery, "a broker without this needs its own assertion here"
    name = running.destination("g")
    first = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(200)
    sender.settle()
    (done,) = receive([first], 200)
    wait_remaining(first, 0)
    sender.send(100)
    sender.settle()
    (dropped,) = receive([first], 300 - 200, acknowledge=False)
    first.close(deadline(5))
    (again,) = receive([running.consumer("g", name)], 100)
    assert identities(again) == identities(dropped)
    assert not identities(again) & identities(done)


def test_a_group_resumes_where_it_stopped_after_its_consumer_reconnects(running: Running) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    first = running.consumer("g", name)
    sender.send(100)
    sender.settle()
    receive([first], 100)
    wait_remaining(first, 0)
    first.close(deadline(5))
    sender.send(100)
    sender.settle()
    second = running.consumer("g", name)
    (got,) = receive([second], 100)
    assert {m.sequence for m in got} == set(range(100 // running.cell.partitions, 200 // running.cell.partitions))


def test_remaining_counts_down_from_the_backlog_to_nothing(running: Running) -> None:
    name = running.destination("g")
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(500)
    sender.settle()
    if consumer.remaining() is None:
        pytest.fail("every broker here can say what remains")
    wait_remaining(consumer, 500)
    receive([consumer], 500)
    wait_remaining(consumer, 0)


def test_automatic_acknowledgement_leaves_nothing_behind(running: Running) -> None:
    cell = running.cell.model_copy(
        update={"consumers": running.cell.consumers.model_copy(update={"acknowledge": "automatic"})}
    )
    admin = running.broker.admin(running.endpoint, cell)
    name = unique("auto")
    running.destinations.append(name)
    try:
        admin.create((name,), cell.partitions, (running.group("g"),))
    finally:
        admin.close()
    consumer = running.consumer("g", name, acknowledge="automatic")
    sender = running.sender(name)
    sender.send(100)
    sender.settle()
    receive([consumer], 100)
    wait_remaining(consumer, 0)


def test_the_computed_level_is_the_one_wanted_and_says_why(running: Running) -> None:
    name = running.destination()
    settings = running.admin.effective_settings((name,))
    own = [values for subject, values in settings.items() if name in subject]
    assert own, "the destination's own settings are read back"
    assert all(own)
    computed = running.admin.durability((name,))
    assert computed.level == running.cell.durability
    assert computed.because


def test_deleting_removes_exactly_our_destinations(running: Running) -> None:
    ours, other = running.destination(), running.destination("g")
    sender = running.sender(other)
    sender.send(10)
    sender.settle()
    running.admin.delete((ours, unique("never-made")), ())
    until = deadline()
    while _exists(running, ours):
        assert time.monotonic_ns() < until
        time.sleep(0.05)
    (got,) = receive([running.consumer("g", other)], 10)
    assert len(got) == 10


def _exists(running: Running, name: str) -> bool:
    try:
        settings = running.admin.effective_settings((name,))
    except BrokerError:
        return False
    return any(name in subject for subject in settings)


def test_close_returns_though_messages_are_open(running: Running) -> None:
    """In time: see checked.py."""
    name = running.destination("g")
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(500)
    sender.producer.close(deadline(10))
    unpack(consumer.receive(100, deadline(1)))
    consumer.close(deadline(10))


def test_the_probe_reads_figures_of_every_node(running: Running) -> None:
    probe = running.broker.probe(running.cluster.endpoint(), running.cluster.nodes())
    assert probe is not None
    nodes, end = {n.name for n in running.cluster.nodes()}, deadline()
    readings = probe.read()
    while {r.subject.split(":", 1)[1] for r in readings} != nodes:  # a node that is too busy to answer gives no figures
        assert time.monotonic_ns() < end, readings
        readings = probe.read()
    assert all(r.unit for r in readings)


def test_unknown_settings_are_refused_with_the_nearest_name(running: Running) -> None:
    cell = running.cell.model_copy(update={"broker_settings": {"no_such_setting_at_all": "1"}})
    assert ("broker_settings", "no_such_setting_at_all") in [problem.field for problem in running.broker.problems(cell)]


def test_connecting_where_nothing_listens_is_a_broker_error(running: Running) -> None:
    endpoint = running.endpoint.model_copy(update={"addresses": ("127.0.0.1:9",)})
    with pytest.raises(BrokerError):
        running.broker.admin(endpoint, running.cell).durability(("x",))


def test_what_an_endpoint_says_besides_addresses_can_be_given_by_a_user_too(running: Running) -> None:
    assert set(running.endpoint.options) <= set(running.broker.capabilities.endpoint_options)
