"""Starting brokers for the contract suite, and drivers on them that a test need not close."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from checked import CheckedConsumer, checked_producer
from contract_load import Sender, agent_plan, cell_for, deadline, unique
from installing import installed
from wire import Wire

from brokerlab.brokers.contract import Admin, Broker, Cluster, Consumer
from brokerlab.brokers.registry import BROKERS, broker_named
from brokerlab.model.plan import CellPlan, Durability, Endpoint

START_S = 300.0
CLOSE_S = 1.0  # for drivers at the end of a test: what is open then does not matter


def weakest_level(broker: Broker, nodes: int) -> Durability:
    """The level that costs least: the suite is about behaviour, one test of it about levels."""
    return max(broker.capabilities.durability_levels[nodes])


def offered() -> list[tuple[str, int]]:
    return [(name, nodes) for name in BROKERS for nodes in broker_named(name).capabilities.nodes]


def in_every_test_run(name: str, nodes: int) -> bool:
    """Those that start in seconds; the others belong to `make test-all`."""
    return nodes in broker_named(name).test_hints.nodes_in_every_run


def every_broker(slow: Callable[[Broker], bool] = lambda broker: broker.test_hints.slow_to_start) -> list[Any]:
    """Parameters for tests that start a broker of their own; those that only users run have tests of their own."""
    started = [name for name in BROKERS if broker_named(name).capabilities.nodes]
    return [pytest.param(name, marks=[pytest.mark.slow] if slow(broker_named(name)) else []) for name in started]


def server_parameters() -> list[Any]:
    """One for every broker and number of nodes; tests/conftest.py keeps the tests of each in one process."""
    return [
        pytest.param(
            (name, nodes),
            id=f"{name}-{nodes}",
            marks=[] if in_every_test_run(name, nodes) else [pytest.mark.slow],
        )
        for name, nodes in offered()
    ]


def start(broker: Broker, cell: CellPlan, directory: Path, wire: Wire | None = None) -> Cluster:
    """A ready cluster, before which the wire stands; stopped again if it does not become ready."""
    assert broker.problems(cell) == []
    installed(broker)
    cluster = broker.cluster(cell, directory / "data", directory / "logs")
    if wire is not None:
        wire.target = target(broker, cluster.endpoint())
    try:
        cluster.start()
        cluster.wait_ready(deadline(START_S))
    except BaseException:
        cluster.stop()
        raise
    return cluster


@dataclass
class Running:
    """A started broker, and drivers on it that are closed when the test ends."""

    broker: Broker
    cell: CellPlan
    cluster: Cluster
    admin: Admin
    directory: Path = Path()  # holds `data` and `logs`
    wire: Wire | None = None  # that a test may put between drivers and the server
    destinations: list[str] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)
    _tag: str = field(default_factory=lambda: unique("t"))
    _open: list[Callable[[], None]] = field(default_factory=list)

    @property
    def endpoint(self) -> Endpoint:
        return self.cluster.endpoint()

    def destination(self, *groups: str, name: str = "d") -> str:
        """A new destination with these groups."""
        made = unique(name)
        self.destinations.append(made)
        self.admin.create((made,), self.cell.partitions, tuple(map(self.group, groups)))
        return made

    def group(self, name: str) -> str:
        """The name in the broker, different for every test: some brokers keep groups apart from destinations."""
        made = f"{self._tag}-{name}"
        self.groups.add(made)
        return made

    def sender(self, *destinations: str, number: int = 0) -> Sender:
        made = self.broker.producer(agent_plan(self.cell, self.endpoint, destinations), number)
        producer = checked_producer(made)
        self._open.append(lambda: producer.close(deadline(CLOSE_S)))
        return Sender(producer, self.cell.partitions * len(destinations), number)

    def consumer(
        self, group: str, *destinations: str, number: int = 0, acknowledge: str = "batch", members: int = 1
    ) -> Consumer:
        """Consumer `number` of a group of so many `members`."""
        plan = agent_plan(self.cell, self.endpoint, destinations, self.group(group), acknowledge, members)
        consumer = CheckedConsumer(self.broker.consumer(plan, number))
        self._open.append(lambda: consumer.close(deadline(CLOSE_S)))
        return consumer

    def close_drivers(self) -> None:
        for close in reversed(self._open):
            close()
        self._open.clear()

    def end_test(self) -> None:
        self.close_drivers()
        self.admin.delete(tuple(self.destinations), tuple(self.groups))
        self.destinations.clear()
        self.groups.clear()
        self._tag = unique("t")


@contextmanager
def running_server(broker: Broker, cell: CellPlan, directory: Path, wire: Wire | None = None) -> Iterator[Running]:
    """A broker that is started now; gone afterwards, with drivers a test has left open, and data."""
    cluster = start(broker, cell, directory, wire)
    with ExitStack() as stack:
        stack.callback(cluster.clean)
        stack.callback(cluster.stop)
        admin = broker.admin(cluster.endpoint(), cell)
        stack.callback(admin.close)
        running = Running(broker, cell, cluster, admin, directory, wire)
        stack.callback(running.close_drivers)
        yield running


@contextmanager
def shared_server(name: str, nodes: int, directory: Path) -> Iterator[Running]:
    """The server of all tests that need no other. Beside one node stands a wire: servers that send clients to an address
    name the wire's, and what a consumer held when its wire was cut comes again soon."""
    broker, level = broker_named(name), weakest_level(broker_named(name), nodes)
    if nodes != 1:
        with running_server(broker, cell_for(name, nodes, level), directory) as running:
            yield running
        return
    wire, hints = Wire(), broker.test_hints
    settings = {**hints.soon_again, **(hints.advertise(wire.address) if hints.advertise else {})}
    try:
        with running_server(broker, cell_for(name, 1, level, broker_settings=settings), directory, wire) as running:
            yield running
    finally:
        wire.close()


def target(broker: Broker, endpoint: Endpoint) -> str:
    """The one address that drivers connect to."""
    option = broker.test_hints.address_option
    return endpoint.addresses[0] if option is None else endpoint.options[option]
