"""Brokers that die, and every durability level offered. These start servers of their own."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from contract_load import PATIENCE_S, Sender, cell_for, deadline, unpack
from contract_servers import Running, every_broker, in_every_test_run, offered, running_server, weakest_level

from brokerlab.brokers.contract import Broker, Consumer
from brokerlab.brokers.registry import BROKERS, broker_named
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN
from brokerlab.model.plan import Durability


def fewest_nodes(broker: Broker) -> int:
    """Most brokers run as one node; some exist only as a cluster."""
    return min(broker.capabilities.nodes)


def level_to_kill(broker: Broker) -> Durability:
    """The strongest level of the fewest nodes, which is tried there as well: one start for both. The weakest where other
    tests try all levels."""
    nodes = fewest_nodes(broker)
    levels = broker.capabilities.durability_levels[nodes]
    return min(levels) if broker.test_hints.levels_in_every_run else weakest_level(broker, nodes)


def is_reached(running: Running) -> None:
    """The level that the cell asks for: read back, and messages are acknowledged at it."""
    destination = running.destination()
    computed = running.admin.durability((destination,))
    assert computed.level == running.cell.durability, computed.because
    sender = running.sender(destination)
    sender.send(100)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}


@pytest.mark.parametrize("name", every_broker())
def test_a_killed_server_makes_open_messages_unknown_and_nothing_hangs(name: str, tmp_path: Path) -> None:
    broker = broker_named(name)
    nodes = fewest_nodes(broker)
    cell = cell_for(name, nodes, level_to_kill(broker))
    with running_server(broker, cell, tmp_path) as running:
        is_reached(running)
        destination = running.destination("g")
        consumer = running.consumer("g", destination)
        probe = broker.probe(running.endpoint, running.cluster.nodes())
        assert probe is not None
        sender = running.sender(destination)
        sender.send(100)
        sender.settle()
        # Frozen first, so that what is sent now surely stays open.
        servers = [psutil.Process(node.pid) for node in running.cluster.nodes()]
        for server in servers:
            _freeze(server)
        # Some serve by child processes; others, made to write a snapshot, end by themselves in the meantime.
        children = [child for server in servers for child in server.children(recursive=True)]
        for child in children:
            with suppress(psutil.NoSuchProcess, FileNotFoundError):
                _freeze(child)
        taken = sender.producer.send(sender.block(50))
        sender.taken += taken
        for process in (*servers, *children):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        until = deadline()
        while len(running.cluster.dead_nodes()) < nodes:
            assert time.monotonic_ns() < until
            time.sleep(0.01)
        assert taken > 0
        _settles_unknown_or_stays_open(broker, sender, taken)
        _gives_what_had_come_or_says_so(consumer, 100 // cell.partitions)
        assert probe.read() == [], "figures of a server that is dead"
        sender.producer.close(deadline(2))
        consumer.close(deadline(2))


def _freeze(process: psutil.Process) -> None:
    """Suspend, and wait until every thread has stopped: the signal returns before that, and one more turn of a server
    is enough to acknowledge."""
    process.suspend()
    until = deadline()
    tasks = Path(f"/proc/{process.pid}/task")
    while not {(task / "stat").read_text().rpartition(") ")[2][0] for task in tasks.iterdir()} <= {"T", "Z"}:
        assert time.monotonic_ns() < until
        time.sleep(0.001)


def _settles_unknown_or_stays_open(broker: Broker, sender: Sender, taken: int) -> None:
    """A client that keeps trying for long leaves them open: there the engine's own timeout calls them unknown."""
    until = deadline(PATIENCE_S if broker.test_hints.settles_after_death else 5.0)
    while len(sender.outcomes) < sender.taken and time.monotonic_ns() < until:
        sender.collect()
        time.sleep(0.001)
    late = [outcome for index, outcome in sender.outcomes.items() if index >= 100]
    assert ACKNOWLEDGED not in late
    assert set(late) <= {UNKNOWN}
    if broker.test_hints.settles_after_death:
        assert len(late) == taken
        assert sum(sender.errors.values()) == taken


def _gives_what_had_come_or_says_so(consumer: Consumer, sequences: int) -> None:
    """A client that is pushed to may hold what came before the death; what was sent after that cannot come."""
    with suppress(BrokerError):
        for _ in range(3):
            deliveries = consumer.receive(100, time.monotonic_ns() + 100_000_000)
            assert all(message.sequence < sequences for message in unpack(deliveries))
            if deliveries.release is not None:
                deliveries.release()


def _level_in_every_test_run(name: str, nodes: int) -> bool:
    return in_every_test_run(name, nodes) and broker_named(name).test_hints.levels_in_every_run


LEVELS = [
    pytest.param(name, nodes, level, marks=[] if _level_in_every_test_run(name, nodes) else [pytest.mark.slow])
    for name, nodes in offered()
    for level in broker_named(name).capabilities.durability_levels[nodes]
    # The weakest run through the whole suite, and those of killed servers are tried before the kill.
    if level != weakest_level(broker_named(name), nodes)
    and (nodes, level) != (fewest_nodes(broker_named(name)), level_to_kill(broker_named(name)))
]


@pytest.mark.parametrize(("name", "nodes", "level"), LEVELS)
def test_every_level_offered_is_reached_and_read_back(name: str, nodes: int, level: Durability, tmp_path: Path) -> None:
    with running_server(broker_named(name), cell_for(name, nodes, level), tmp_path) as running:
        is_reached(running)


@pytest.mark.parametrize("name", BROKERS)
def test_levels_and_node_counts_not_offered_are_absent_from_capabilities(name: str) -> None:
    capabilities = broker_named(name).capabilities
    assert set(capabilities.nodes) <= set(capabilities.durability_levels), "others are those of users' clusters"
    assert all(levels for levels in capabilities.durability_levels.values())
    for nodes, levels in capabilities.durability_levels.items():
        if nodes == 1:
            assert Durability.L1 not in levels
            assert Durability.L2 not in levels
