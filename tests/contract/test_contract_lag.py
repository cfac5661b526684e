"""What `monitor` reads of destinations and groups, where a broker tells it by a cheap question."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import pytest
from contract_load import deadline, receive, wait_remaining
from contract_servers import Running

from brokerlab.brokers.contract import BrokerProbe, Reading, WatchedByEndpoint
from brokerlab.brokers.registry import metrics_of
from brokerlab.model.subjects import parts_of, scope_of

SENT, TARGET = 200, "target"


@pytest.fixture
def probe(running: Running) -> BrokerProbe | None:
    """As `monitor` makes it, of a broker whose addresses are known; None where it has no cheap question that tells this."""
    broker = running.broker
    if not isinstance(broker, WatchedByEndpoint):
        return None
    return broker.lag_probe(running.endpoint, running.cluster.nodes(), TARGET)


def of(readings: list[Reading], metric: str, *named: str) -> float | None:
    """The sum over all subjects in whose names all these appear (one queue of a group, or a partition of many); None where
    there is no such subject."""
    subjects = [(" ".join(parts_of(r.subject)), r) for r in readings if r.metric == metric]
    found = [r.value for words, r in subjects if all(name in words for name in named)]
    return sum(found) if found else None


def until(probe: BrokerProbe, wanted: object, asked: Callable[[list[Reading]], object]) -> None:
    """Some brokers are asked every few seconds only."""
    end = deadline()
    while (told := asked(readings := probe.read())) != wanted:
        assert time.monotonic_ns() < end, f"told {told} instead of {wanted}"
        time.sleep(0.1)
    assert {scope_of(r.subject) for r in readings} <= {"destination", "group"}
    assert {parts_of(r.subject)[0] for r in readings} == {TARGET}
    assert all(r.value >= 0 for r in readings)


def test_lag_is_what_was_sent_less_what_was_acknowledged_and_reading_changes_nothing(
    running: Running, probe: BrokerProbe | None
) -> None:
    """Of groups that have acknowledged something of every partition: not every broker knows them before."""
    if probe is None:
        scopes = {row.scope for row in metrics_of(running.broker.name)}
        assert not scopes & {"destination", "group"}, "the table of metrics says that it is told"
        return
    tells = running.broker.test_hints.lag_probe_tells
    groups = {"g": 80, "other": 40} if running.broker.capabilities.groups else {"g": 80}
    name = running.destination(*groups)
    sender = running.sender(name)

    def told(readings: list[Reading]) -> dict[str, float | None]:
        lags = {group: of(readings, "lag_messages", name, running.group(group)) for group in groups}
        # Where every group has a queue of its own, each takes in all messages.
        first = [r for r in readings if len(groups) == 1 or running.group("other") not in " ".join(parts_of(r.subject))]
        counts = {metric: of(first, metric, name) for metric in tells if metric != "lag_messages"}
        there = any(name in " ".join(parts_of(r.subject)) for r in readings)
        return (lags if "lag_messages" in tells else {}) | counts | {"there": there}

    def expected(lags: Mapping[str, int], taken_in: int) -> dict[str, int]:
        known = dict(lags) if "lag_messages" in tells else {}
        return known | {metric: taken_in for metric in tells if metric != "lag_messages"} | {"there": True}

    def send() -> None:
        sender.send(SENT)
        sender.settle()

    def acknowledge(group: str, count: int) -> int:
        """At least so many; returns how many are left. Closing sends what a driver had not sent yet."""
        consumer = running.consumer(group, name)
        (got,) = receive([consumer], count, most=count)
        left = SENT - len({m.identity for m in got})
        if "lag_messages" in tells:  # else it may not tell how many of a batch are left
            wait_remaining(consumer, left)
        consumer.close(deadline(10))
        return left

    send()
    for group in groups:
        acknowledge(group, SENT)
    until(probe, expected(dict.fromkeys(groups, 0), taken_in=SENT), told)
    send()
    left = {group: acknowledge(group, part) for group, part in groups.items()}
    assert all(0 < count < SENT for count in left.values())
    before = running.admin.effective_settings((name,))
    until(probe, expected(left, taken_in=2 * SENT), told)
    assert running.admin.effective_settings((name,)) == before
