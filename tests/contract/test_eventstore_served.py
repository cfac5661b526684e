"""KurrentDB's driver against a locally served subset of its protocol: the product itself was never run here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import cast

import kurrentdbclient.exceptions
import pytest
from contract_load import cell_for, deadline
from contract_servers import Running
from endpoint_cluster import EndpointCluster, contract_checks, wire_checks
from eventstore_server import TOMBSTONED, Served
from test_contract_wire import Wired
from wire import Wire

from brokerlab.brokers.contract import Cluster
from brokerlab.brokers.eventstore.broker import BROKER
from brokerlab.brokers.eventstore.connection import ERRORS
from brokerlab.brokers.eventstore.settings import durability_of
from brokerlab.errors import BrokerError, EndpointOnlyError
from brokerlab.model.blocks import REJECTED
from brokerlab.model.plan import CellPlan, Durability, Endpoint, Security

L1, L2, L3, L4 = Durability


def cell(level: Durability = L3, **changes: object) -> CellPlan:
    return cell_for("eventstore", 1, level, endpoint=("127.0.0.1:2113",), **changes)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    served = Served()
    yield served
    served.stop()


@pytest.fixture(scope="module")
def endpoint(served: Served) -> Endpoint:
    return Endpoint(addresses=(f"127.0.0.1:{served.port}",), options={"http": served.http})


@pytest.fixture
def running(endpoint: Endpoint) -> Iterator[Running]:
    admin = BROKER.admin(endpoint, cell())
    running = Running(BROKER, cell(), cast("Cluster", EndpointCluster(endpoint)), admin)
    yield running
    running.end_test()
    admin.close()


@pytest.fixture
def wired(running: Running, endpoint: Endpoint) -> Iterator[Wired]:
    wire = Wire(endpoint.addresses[0])
    producers = running.cell.producers.model_copy(update={"send_timeout_s": 15.0})  # it is tried as long as that
    soon = running.cell.model_copy(update={"producers": producers})
    wired = Wired(running.broker, soon, running.cluster, running.admin, wire=wire)
    yield wired
    wire.heal()
    wired.end_test()
    wire.close()


@pytest.mark.parametrize("check", contract_checks(), ids=lambda check: check.__name__)
def test_contract(running: Running, check: Callable[[Running], None]) -> None:
    check(running)


@pytest.mark.parametrize("check", wire_checks(), ids=lambda check: check.__name__)
def test_contract_wire(wired: Wired, check: Callable[[Wired], None]) -> None:
    check(wired)


def test_a_stream_that_refuses_events_rejects_the_messages(running: Running) -> None:
    sender = running.sender(TOMBSTONED)
    sender.send(20)
    assert set(sender.settle().values()) == {REJECTED}
    assert sender.errors == {"StreamIsDeletedError": 20}


def test_a_group_that_is_deleted_under_its_consumer_is_an_error(running: Running) -> None:
    name = running.destination("g")
    consumer = running.consumer("g", name)
    assert len(consumer.receive(10, 0)) == 0
    running.admin.delete((name,), ())
    with pytest.raises(BrokerError, match="NotFoundError"):
        consumer.receive(10, deadline(30))
    consumer.close(deadline(5))


def test_the_probe_reads_figures_of_every_address(running: Running, endpoint: Endpoint) -> None:
    probe = BROKER.probe(endpoint, ())
    assert probe is not None
    assert {(r.metric, r.value) for r in probe.read()} == {
        ("cpu_percent", 1.5),
        ("memory_bytes", 1000.0),
        ("disk_written_bytes_total", 10.0),
    }
    gone = BROKER.probe(running.endpoint.model_copy(update={"options": {"http": "http://127.0.0.1:9"}}), ())
    assert gone is not None
    assert gone.read() == []


@pytest.mark.parametrize(
    ("options", "members", "level"),
    [
        ({"ClusterSize": "3", "UnsafeDisableFlushToDisk": "false", "MemDb": "false"}, 3, L1),
        ({"ClusterSize": "3", "UnsafeDisableFlushToDisk": "true", "MemDb": "false"}, 3, L2),
        ({"ClusterSize": "1", "UnsafeDisableFlushToDisk": "False", "MemDb": "False"}, 1, L3),
        ({"ClusterSize": "1", "UnsafeDisableFlushToDisk": "false", "MemDb": "true"}, 1, L4),
        ({"ClusterSize": "3", "UnsafeDisableFlushToDisk": "false"}, 3, L2),  # what is not told is the weaker
        ({}, 1, L4),
    ],
)
def test_the_level_follows_from_the_servers_options(options: dict[str, str], members: int, level: Durability) -> None:
    assert durability_of(options, members).level == level


def test_every_error_of_the_library_is_in_the_table() -> None:
    module = kurrentdbclient.exceptions
    known = {
        n
        for n, e in inspect.getmembers(module, inspect.isclass)
        if issubclass(e, Exception) and e.__module__ == module.__name__
    }
    assert known == ERRORS.names


def test_it_is_never_started_here_and_says_why() -> None:
    here = BROKER.installation()
    assert (here.installed, here.runs_here) == (False, False)
    assert "--endpoint" in here.reason
    with pytest.raises(EndpointOnlyError, match="eventstore is not installed"):
        BROKER.install(lambda *_: None)


def test_a_password_without_tls_is_refused() -> None:
    given = cell(security=Security(user="lab", password="env:X"))
    assert [p.field for p in BROKER.problems(given)] == [("security", "tls")]
    assert BROKER.problems(cell(L1)) == []
    unknown = cell(broker_settings={"max_retries": "3"}, client_settings={"batch_bytes": "9999999"})
    assert [p.field[1] for p in BROKER.problems(unknown)] == ["max_retries", "batch_bytes"]


def test_where_nothing_listens_drivers_say_so(running: Running) -> None:
    away = Endpoint(addresses=("127.0.0.1:9",))
    with pytest.raises(BrokerError):
        BROKER.admin(away, running.cell).create(("x",), 1, ("g",))
