"""What `monitor` reads of destinations and groups, where a broker tells it by a cheap question."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from contract_load import deadline, receive, wait_remaining
from contract_servers import Running

from brokerlab.brokers.contract import BrokerProbe, Reading, WatchedByEndpoint
from brokerlab.model.subjects import parts_of, scope_of

SENT, TARGET = 200, "target"


@pytest.fixture
def probe(running: Running) -> BrokerProbe:
    """As `monitor` makes it, of a broker whose addresses are known."""
    broker = running.broker
    made = None
    if isinstance(broker, WatchedByEndpoint):
        made = broker.lag_probe(running.endpoint, running.cluster.nodes(), TARGET)
    if made is None:
        pytest.skip("it has no cheap question that tells this")
    return made


def of(readings: list[Reading], metric: str, *named: str) -> float | None:
    """The sum over all subjects in whose names all these appear (one queue of a group, or a partition of many); None where
    there is no such subject."""
    subjects = [(" ".join(parts_of(r.subject)), r) for r in readings if r.metric == metric]
    found = [r.value for words, r in subjects if all(name in words for name in named)]
    return sum(found) if found else None


def until(probe: BrokerProbe, wanted: object, asked: Callable[[list[Reading]], object]) -> None:
    end = deadline()
    while (told := asked(probe.read())) != wanted:
        assert time.monotonic_ns() < end, f"told {told} instead of {wanted}"
        time.sleep(0.1)


def test_lag_is_what_was_sent_less_what_was_acknowledged(running: Running, probe: BrokerProbe) -> None:
    groups = ("g", "other") if running.broker.capabilities.groups else ("g",)
    name = running.destination(*groups)
    consumer = running.consumer("g", name)
    sender = running.sender(name)
    sender.send(SENT)
    sender.settle()

    def lags(readings: list[Reading]) -> list[float | None]:
        return [of(readings, "lag_messages", name, running.group(group)) for group in groups]

    until(probe, [SENT for _ in groups], lags)
    (got,) = receive([consumer], 40, most=40)
    left = SENT - len({m.identity for m in got})
    assert 0 < left < SENT
    wait_remaining(consumer, left)
    until(probe, [left, *(SENT for _ in groups[1:])], lags)
    receive([consumer], left)
    wait_remaining(consumer, 0)
    until(probe, [0, *(SENT for _ in groups[1:])], lags)


def test_what_a_destination_took_in_is_what_was_sent(running: Running, probe: BrokerProbe) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(SENT)
    sender.settle()
    until(probe, SENT, lambda readings: of(readings, "messages_in_total", name))
    sender.send(SENT)
    sender.settle()
    until(probe, 2 * SENT, lambda readings: of(readings, "messages_in_total", name))


def test_every_subject_is_of_the_target_and_nothing_is_made_by_reading(running: Running, probe: BrokerProbe) -> None:
    name = running.destination("g")
    sender = running.sender(name)
    sender.send(SENT)
    sender.settle()
    until(probe, True, lambda readings: any(name in r.subject for r in readings))
    before = running.admin.effective_settings((name,))
    readings = probe.read()
    assert {scope_of(r.subject) for r in readings} <= {"destination", "group"}
    assert {parts_of(r.subject)[0] for r in readings} == {TARGET}
    assert all(r.value >= 0 for r in readings)
    assert running.admin.effective_settings((name,)) == before
