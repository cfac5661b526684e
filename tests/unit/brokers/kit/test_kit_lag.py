"""What lag probes share."""

from __future__ import annotations

import pytest

from brokerlab.brokers.kit import lag
from brokerlab.brokers.kit.lag import Listing, lag_reading, queue_readings
from brokerlab.brokers.registry import BROKERS, broker_named, metrics_of
from brokerlab.model.watched import Asked, Bean


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(lag.time, "monotonic", lambda: self.now_s)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_a_list_is_asked_for_when_it_is_due_or_was_forgotten(clock: Clock) -> None:
    asked: list[int] = []

    def ask() -> list[int]:
        asked.append(len(asked))
        return asked

    listing = Listing(ask, "queues")
    assert listing.now() == listing.now() == (0,)
    clock.now_s += lag.LIST_EVERY_S
    assert listing.now() == listing.now() == (0, 1)
    listing.forget()
    assert listing.now() == (0, 1, 2)


def test_what_is_beyond_the_most_is_not_asked_for_and_said(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag, "MOST_DESTINATIONS", 3)
    there = ["a", "b", "c"]
    listing = Listing(lambda: iter(there), "queues")
    assert (listing.now(), listing.missing()) == (("a", "b", "c"), {})
    there.append("d")
    clock.now_s += lag.LIST_EVERY_S
    assert listing.now() == ("a", "b", "c")
    assert list(listing.missing()) == ["the rest of its queues"]


def test_a_list_that_could_not_be_had_is_asked_for_again(clock: Clock) -> None:  # noqa: ARG001 - time stands still
    answers = [OSError("gone"), ["a"]]

    def ask() -> list[str]:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    listing = Listing(ask, "queues")
    with pytest.raises(OSError, match="gone"):
        listing.now()
    assert listing.now() == ("a",)


def test_a_lag_is_never_below_zero() -> None:
    assert lag_reading("b", "g", "d", -3).value == 0


def test_a_queue_is_its_own_group() -> None:
    told = {(r.subject, r.metric): r.value for r in queue_readings("b", "orders", 7, 10)}
    assert told == {
        ("destination:b/orders", "messages_in_total"): 10,
        ("destination:b/orders", "messages"): 7,
        ("group:b/orders/orders/0", "lag_messages"): 7,
    }


@pytest.mark.parametrize("name", BROKERS)
def test_the_table_of_metrics_says_what_is_asked_of_every_broker_with_a_lag_probe(name: str) -> None:
    rows = [row for row in metrics_of(name) if row.scope in ("destination", "group")]
    assert bool(rows) == bool(getattr(broker_named(name), "parts").lag)  # noqa: B009 - a front door's
    assert all(isinstance(row.source, Asked | Bean) for row in rows)
