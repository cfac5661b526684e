"""A broken wire under every broker: what is in flight becomes unknown at worst, nothing hangs (every call is timed, see
checked.py), nothing is lost."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator

import pytest
from checked import LIMIT_S
from contract_load import PATIENCE_S, Received, Sender, deadline, unpack, wait_remaining
from contract_servers import Running
from wire import Direction, Wire, Wires

from brokerlab.brokers.contract import Consumer
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN, Deliveries
from brokerlab.model.plan import Endpoint
from brokerlab.take_down import delete_destinations

BEFORE, DURING, AFTER = 200, 50, 50
DOWN_S = 4.0  # longer than any client tries by itself before it says that it cannot connect


class Wired(Running):
    """A started broker whose drivers connect through a wire; the admin that prepares and checks does not."""

    @property
    def endpoint(self) -> Endpoint:
        """The cluster's, with the wire in place of the one address drivers connect to."""
        assert self.wire is not None
        endpoint, option = self.cluster.endpoint(), self.broker.test_hints.address_option
        if option is not None:
            return endpoint.model_copy(update={"options": {**endpoint.options, option: self.wire.address}})
        return endpoint.model_copy(update={"addresses": (self.wire.address,)})


@pytest.fixture
def wired(server: Running) -> Iterator[Wired]:
    wired = Wired(server.broker, server.cell, server.cluster, server.admin, wire=server.wire)
    yield wired
    assert wired.wire is not None
    wired.wire.heal()
    wired.end_test()


@pytest.fixture
def running(wired: Wired) -> Wired:
    return wired


def offer(sender: Sender, count: int) -> None:
    """Hand over as many of `count` messages as are taken, without insisting: at least one."""
    until = deadline()
    while True:
        block = sender.block(count)
        taken = sender.producer.send(block)
        for partition in block.partitions[taken:].tolist():  # not taken: their numbers are given out again
            sender._sequences[partition] -= 1
        sender.taken += taken
        if taken:
            return
        sender.collect()
        assert time.monotonic_ns() < until, "nothing was taken"


class Receiver:
    """Receives and acknowledges for a group, with a new consumer where the old one gave up."""

    def __init__(self, running: Wired, name: str) -> None:
        self._running, self._name = running, name
        self._consumer: Consumer | None = running.consumer("g", name)
        self.got: list[Received] = []

    def poll(self) -> None:
        """One short receive."""
        try:
            if self._consumer is None:
                self._consumer = self._running.consumer("g", self._name)
            consumer = self._consumer
            deliveries: Deliveries = consumer.receive(500, time.monotonic_ns() + 50_000_000)
            self.got += unpack(deliveries)
            consumer.acknowledge(deliveries)
            if deliveries.release is not None:
                deliveries.release()
        except BrokerError:
            self._consumer = None  # it says that it cannot go on; it is closed at the end of the test

    def until_received(self, wanted: set[tuple[int, int, int]]) -> None:
        until = deadline()
        while missing := wanted - {m.identity for m in self.got}:
            self.poll()
            assert time.monotonic_ns() < until, (
                f"{len(missing)} acknowledged messages never came: {sorted(missing)[:5]}"
            )

    def until_quiet(self) -> None:
        """Until all acknowledgements have arrived: what is still on the wire would count as bytes of the test's."""
        assert self._consumer is not None
        wait_remaining(self._consumer, 0)


def identities(sender: Sender, outcome: int) -> set[tuple[int, int, int]]:
    """Messages are numbered in turn over the partitions, so that an index says which message it is."""
    return {
        (sender.number, index % sender.partitions, index // sender.partitions)
        for index, found in sender.outcomes.items()
        if found == outcome
    }


def settle_while_broken(running: Wired, sender: Sender) -> None:
    """Until the client has given up what is open; a client that sends again does not do so soon."""
    resending = running.broker.test_hints.resends
    until = deadline(3.0 if resending else PATIENCE_S)
    while len(sender.outcomes) < sender.taken and time.monotonic_ns() < until:
        sender.collect()
        time.sleep(0.001)
    if not resending:
        assert len(sender.outcomes) == sender.taken, "a lost connection left messages open"


def works_again(running: Wired, sender: Sender, name: str) -> Sender:
    """The same producer takes messages again, and they are acknowledged; a new one works too."""
    sender.send(AFTER)
    before = sender.taken - AFTER
    outcomes = sender.settle()
    assert {outcomes[i] for i in range(before, sender.taken)} == {ACKNOWLEDGED}
    fresh = running.sender(name, number=1)
    fresh.send(AFTER)
    assert set(fresh.settle().values()) == {ACKNOWLEDGED}
    return fresh


def check(receiver: Receiver, senders: list[Sender]) -> None:
    for sender in senders:
        receiver.until_received(identities(sender, ACKNOWLEDGED))
    received = {m.identity for m in receiver.got}
    assert all(m.intact for m in receiver.got), "half a message was delivered"
    for sender in senders:
        assert not received & identities(sender, REJECTED), "rejected, and stored all the same"
        sent = {identity for outcome in (ACKNOWLEDGED, REJECTED, UNKNOWN) for identity in identities(sender, outcome)}
        assert {i for i in received if i[0] == sender.number} <= sent


def begin(running: Wired) -> tuple[Wire, str, Sender, Receiver]:
    """A destination with some messages that went through the wire, both ways."""
    wire = running.wire
    assert wire is not None
    name = running.destination("g")
    receiver = Receiver(running, name)
    before = dict(wire.passed)
    sender = running.sender(name)
    sender.send(BEFORE)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    receiver.until_received(identities(sender, ACKNOWLEDGED))
    receiver.until_quiet()
    for direction, count in wire.passed.items():
        carried = count - before[direction]
        assert carried >= BEFORE * sender.message_bytes, f"messages go past the wire: {carried} bytes {direction}"
    return wire, name, sender, receiver


def test_a_cut_wire_makes_open_messages_unknown_and_all_goes_on_when_it_is_healed(running: Wired) -> None:
    wire, name, sender, receiver = begin(running)
    wire.stall(("to_client",))  # so that no acknowledgement of these can have come
    offer(sender, DURING)
    sender.collect()
    wire.cut()
    settle_while_broken(running, sender)
    late = [outcome for index, outcome in sender.outcomes.items() if index >= BEFORE]
    assert set(late) <= {UNKNOWN}
    receiver.poll()
    wire.heal()
    fresh = works_again(running, sender, name)
    check(receiver, [sender, fresh])


def test_a_stalled_wire_hangs_nothing_and_gives_everything_when_it_moves_again(running: Wired) -> None:
    wire, name, sender, receiver = begin(running)
    other = running.sender(name, number=2)
    wire.stall()
    offer(sender, DURING)
    offer(other, DURING)
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        sender.collect()
        receiver.poll()
    assert not [index for index in sender.outcomes if index >= BEFORE], "there was no way to know"
    other.producer.close(deadline(2))
    wire.heal()
    fresh = works_again(running, sender, name)
    assert set(sender.outcomes.values()) <= {ACKNOWLEDGED, UNKNOWN}
    check(receiver, [sender, fresh])


@pytest.mark.parametrize(("direction", "after_bytes"), [("to_server", 1501), ("to_client", 3)])
def test_a_truncated_stream_is_never_taken_for_a_whole_one(
    running: Wired, direction: Direction, after_bytes: int
) -> None:
    wire, name, sender, receiver = begin(running)
    wire.truncate(direction, after_bytes)
    offer(sender, DURING)
    until = deadline()
    while not wire.is_cut.is_set():
        sender.collect()
        assert time.monotonic_ns() < until, "the stream never reached its end"
    settle_while_broken(running, sender)
    late = {outcome for index, outcome in sender.outcomes.items() if index >= BEFORE}
    assert late <= {ACKNOWLEDGED, UNKNOWN}
    wire.heal()
    fresh = works_again(running, sender, name)
    check(receiver, [sender, fresh])


@pytest.fixture
def wires(running: Wired) -> Iterator[Wires]:
    """Before every address that an administration connects to."""
    assert running.wire is not None
    wires = Wires(running.cluster.endpoint(), running.wire)
    yield wires
    wires.heal()
    wires.close()


def exists(running: Wired, name: str) -> bool:
    """As an admin says who has never heard of it: one that made it may insist that it is there."""
    admin = running.broker.admin(running.cluster.endpoint(), running.cell)
    try:
        return any(name in subject for subject in admin.effective_settings((name,)))
    except BrokerError:
        return False
    finally:
        admin.close()


def wait_gone(running: Wired, name: str) -> None:
    until = deadline()
    while exists(running, name):
        assert time.monotonic_ns() < until, f"{name} is still there"
        time.sleep(0.05)


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def test_clean_up_waits_for_a_wire_that_is_down_after_the_load(
    running: Wired, wires: Wires, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(BEFORE)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    running.close_drivers()
    assert exists(running, name)
    wires.cut()
    healing = threading.Timer(DOWN_S, wires.heal)
    healing.start()
    try:
        names = (name,), (running.group("g"),)
        waited: list[str] = []
        delete_destinations(running.broker, wires.endpoint, running.cell, *names, PATIENCE_S, waited.append)
        assert healing.finished.is_set(), "it was deleted past the wire"
        assert len(waited) <= 1, "more than one note about waiting; none where the client itself waits long enough"
    finally:
        healing.cancel()
    wait_gone(running, name)
    assert not complaints(caplog)
    assert "Traceback" not in capfd.readouterr().err


def test_an_admin_whose_connection_was_cut_works_or_says_so_and_closes(
    running: Wired, wires: Wires, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    name = running.destination("g")
    admin = running.broker.admin(wires.endpoint, running.cell)
    try:
        assert any(name in subject for subject in admin.effective_settings((name,)))
        wires.cut()
        wires.heal()
        with contextlib.suppress(BrokerError):
            admin.delete((name,), (running.group("g"),))
    finally:
        begun = time.monotonic()
        admin.close()
        assert time.monotonic() - begun < LIMIT_S, "close blocked"
    delete_destinations(running.broker, wires.endpoint, running.cell, (name,), (), PATIENCE_S)
    wait_gone(running, name)
    assert not complaints(caplog)
    assert "Traceback" not in capfd.readouterr().err


def test_clean_up_gives_up_with_a_broker_error_where_the_wire_stays_down(running: Wired, wires: Wires) -> None:
    name = running.destination("g")
    wires.cut()
    with pytest.raises(BrokerError):
        delete_destinations(running.broker, wires.endpoint, running.cell, (name,), (), patience_s=0.0)
    wires.heal()
    assert exists(running, name)
