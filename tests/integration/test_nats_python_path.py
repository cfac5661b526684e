"""The whole contract again on nats-py: the suite itself takes the native path wherever there is a compiler."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from contract_load import agent_plan, cell_for, receive, wait_remaining
from contract_servers import Running, running_server
from test_contract import *  # noqa: F403 - its tests run here with the fixture below
from wire import Wire

from brokerlab.brokers.contract import Consumer, Producer
from brokerlab.brokers.kit.front_door import FrontDoor
from brokerlab.brokers.nats.broker import BROKER
from brokerlab.brokers.nats.consumer import SILENT_NS
from brokerlab.errors import MachineError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED
from brokerlab.model.plan import AgentPlan, Durability, Security
from brokerlab.native import library, why_not

# nats-py is asked at every tick. Waiting for the selector of its event loop instead was tried: no less CPU at 500/s.
del test_an_answer_is_timed_when_it_comes_even_if_it_is_asked_for_later  # noqa: F821


@dataclass(frozen=True)
class OnPython(FrontDoor):
    """Every driver on nats-py, whatever the plan says."""

    def producer(self, plan: AgentPlan, number: int) -> Producer:
        return super().producer(plan.model_copy(update={"driver": "python"}), number)

    def consumer(self, plan: AgentPlan, number: int) -> Consumer:
        return super().consumer(plan.model_copy(update={"driver": "python"}), number)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    cell = cell_for("nats", 1, Durability.L4)
    with running_server(OnPython(**vars(BROKER)), cell, tmp_path_factory.mktemp("nats")) as running:
        yield running


def test_these_tests_run_on_nats_py(running: Running) -> None:
    name = running.destination("g")
    assert running.sender(name).producer.path.startswith("python (nats-py")
    assert running.consumer("g", name).path.startswith("python (nats-py")


needs_c = pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")


@needs_c
def test_without_a_wish_the_native_path_is_taken_and_both_read_each_others_messages(running: Running) -> None:
    native = Running(BROKER, running.cell, running.cluster, running.admin)
    name = running.destination("g", "h")
    first, second = native.sender(name, number=0), running.sender(name, number=1)
    readers = [native.consumer("g", name), running.consumer("h", name)]
    assert first.producer.path.startswith("native")
    assert readers[0].path.startswith("native")
    for sender in (first, second):
        sender.send(300)
        assert set(sender.settle().values()) == {ACKNOWLEDGED}
    for reader, group in zip(readers, (native, running), strict=True):
        (got,) = receive([reader], 300)
        assert all(m.intact for m in got), group
    native.close_drivers()


@needs_c
@pytest.mark.parametrize("driver", ["native", "python"])
def test_too_large_and_unheard_messages_are_rejected_alike_on_both_paths(running: Running, driver: str) -> None:
    name = running.destination()
    plan = agent_plan(running.cell, running.endpoint, (name,)).model_copy(update={"driver": driver})
    sender = running.sender(name)
    sender.producer.close(0)
    sender.producer = BROKER.producer(plan, 0)
    sender.send(10)
    sender.settle()
    sender.send_block(sender.block(1, message_bytes=9_000_000))
    sender.send(10)
    outcomes = sender.settle()
    assert [i for i, o in outcomes.items() if o == REJECTED] == [10]
    assert sender.errors == {"MaxPayloadError": 1}
    running.admin.delete((name,), ())
    sender.send(5)
    assert [sender.settle()[i] for i in range(21, 26)] == [REJECTED] * 5
    assert sender.errors == {"MaxPayloadError": 1, "503 no responders": 5}
    sender.producer.close(0)


@needs_c
def test_an_idle_consumer_still_receives_after_longer_than_silence_would_allow(running: Running) -> None:
    """Heartbeats keep pulls known to be alive; a message after seconds of nothing comes once."""
    native = Running(BROKER, running.cell, running.cluster, running.admin)
    name = running.destination("g")
    consumer = native.consumer("g", name)
    begun = time.monotonic()
    while time.monotonic() - begun < 6:
        assert len(consumer.receive(10, time.monotonic_ns() + 500_000_000)) == 0
    sender = running.sender(name)
    sender.send(100)
    sender.settle()
    (got,) = receive([consumer], 100)
    assert len(got) == 100
    wait_remaining(consumer, 0)
    native.close_drivers()


@needs_c
@pytest.mark.parametrize("driver", ["native", "python"])
def test_who_hears_nothing_from_one_server_asks_another(running: Running, driver: str) -> None:
    """Seen with three nodes on a busy machine: a consumer that received nothing for 90 seconds."""
    name = running.destination("g")
    direct = running.endpoint
    wire = Wire(direct.addresses[0])
    endpoint = direct.model_copy(update={"addresses": (wire.address, *direct.addresses)})
    plan = agent_plan(running.cell, endpoint, (name,), running.group("g"), "batch", 1)
    consumer = BROKER.consumer(plan.model_copy(update={"driver": driver}), 0)
    try:
        wire.stall(["to_client"])
        until = time.monotonic() + 2 * SILENT_NS / 1e9 + 2
        while time.monotonic() < until:
            assert len(consumer.receive(500, time.monotonic_ns() + 50_000_000)) == 0
        sender = running.sender(name)
        sender.send(100)
        sender.settle()
        receive([consumer], 100)  # nothing ever comes through the wire
    finally:
        consumer.close(time.monotonic_ns() + 1_000_000_000)
        wire.close()


def test_native_is_refused_where_it_cannot_be_had(running: Running) -> None:
    secured = Security(tls=True)
    plan = agent_plan(running.cell, running.endpoint.model_copy(update={"security": secured}), ("d",))
    with pytest.raises(MachineError, match="no TLS"):
        BROKER.producer(plan.model_copy(update={"driver": "native"}), 0)
    cell = running.cell.model_copy(update={"driver": "native", "security": secured})
    assert any("no TLS" in problem.message for problem in BROKER.problems(cell))


def test_settings_read_back_leave_out_limits_that_follow_the_free_disk(running: Running) -> None:
    """They differ from start to start, and comparisons would call two equal servers unlike."""
    settings = running.admin.effective_settings(())
    (server,) = (values for subject, values in settings.items() if subject.startswith("server:"))
    assert "sync_interval" in server
    assert not {"max_storage", "max_memory"} & set(server)
