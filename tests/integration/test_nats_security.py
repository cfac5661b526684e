"""NATS with TLS and a password: verified messages, clear refusals, and the password nowhere to be found."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_load import agent_plan, cell_for, receive
from contract_servers import Running, running_server
from planted import WRONG, files_with, planted, private, shown_by_processes, with_security

from brokerlab.brokers.nats.broker import BROKER
from brokerlab.errors import BrokerError, UserError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import Durability, Endpoint, Security
from brokerlab.native import library

PASSWORD = 'pl"anted\\ sécret-53fe91'
REFERENCE = "env:BROKERLAB_TEST_NATS_PASSWORD"
WHOLE = Security(tls=True, user="lab", password=REFERENCE)
PLAIN = Security(user="lab", password=REFERENCE)


@pytest.fixture(scope="module", params=[WHOLE, PLAIN], ids=["tls", "password-only"])
def security(request: pytest.FixtureRequest) -> Security:
    made: Security = request.param
    return made


@pytest.fixture(scope="module")
def directory(security: Security, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls" if security.tls else "password")


@pytest.fixture(scope="module")
def running(security: Security, directory: Path) -> Iterator[Running]:
    cell = cell_for("nats", 1, Durability.L4, security=security)
    with planted(REFERENCE, PASSWORD), running_server(BROKER, cell, directory) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    """A connection nobody closed complains when it is collected: let it be in the test that left it."""
    yield
    gc.collect()


def attempt(running: Running, endpoint: Endpoint) -> None:
    """Connect as a producer does."""
    BROKER.producer(agent_plan(running.cell, endpoint, ("d",)), 0)


def test_messages_go_through_verified_on_the_path_that_fits(running: Running) -> None:
    name = running.destination("g")
    consumer, sender = running.consumer("g", name), running.sender(name)
    secured = running.endpoint.security
    assert secured is not None
    native = not secured.tls and library() is not None
    assert sender.producer.path.startswith("native" if native else "python")
    assert consumer.path.startswith("native" if native else "python")
    sender.send(500)
    assert set(sender.settle().values()) == {ACKNOWLEDGED}
    (got,) = receive([consumer], 500)
    assert all(m.intact for m in got)
    assert consumer.remaining() is not None


def test_a_wrong_password_is_refused_clearly(running: Running) -> None:
    wrong = with_security(running.endpoint, password=WRONG)
    with pytest.raises(BrokerError, match=r"(?i)authorization") as refused:
        attempt(running, wrong)
    assert "something else" not in str(refused.value)
    with pytest.raises(BrokerError, match=r"(?i)authorization"):
        BROKER.admin(wrong, running.cell)


def test_nobody_is_refused_clearly(running: Running) -> None:
    with pytest.raises(BrokerError, match="cannot connect to NATS"):
        attempt(running, running.endpoint.model_copy(update={"security": None}))


def test_a_password_that_is_not_there_is_the_users_error(running: Running) -> None:
    with pytest.raises(UserError, match="BROKERLAB_TEST_NOT_SET"):
        attempt(running, with_security(running.endpoint, password="env:BROKERLAB_TEST_NOT_SET"))


def test_tls_is_neither_left_out_nor_taken_from_a_stranger(running: Running) -> None:
    secured = running.endpoint.security
    assert secured is not None
    if secured.tls:
        with pytest.raises(BrokerError, match=r"(?i)tls"):
            attempt(running, with_security(running.endpoint, tls=False))
        with pytest.raises(BrokerError, match=r"(?i)certificate"):
            attempt(running, with_security(running.endpoint, ca_file=None))
    else:
        with pytest.raises(BrokerError, match="no TLS"):
            attempt(running, with_security(running.endpoint, tls=True))


def test_tls_without_a_user_is_not_left_out_either(tmp_path: Path) -> None:
    cell = cell_for("nats", 1, Durability.L4)
    with (
        running_server(BROKER, cell, tmp_path) as running,
        pytest.raises(BrokerError, match="no TLS"),
    ):
        BROKER.admin(running.endpoint.model_copy(update={"security": Security(tls=True)}), cell)


def test_the_password_is_in_no_log_no_process_list_and_only_in_a_file_of_the_owner(
    running: Running, directory: Path
) -> None:
    part = "cret-53fe91"
    assert files_with(part, directory / "logs") == []
    holders = files_with(part, directory / "data")
    assert [f.name for f in holders] == ["nats.conf"]
    assert private(holders)
    assert shown_by_processes(part, of=[node.pid for node in running.cluster.nodes()]) == []
