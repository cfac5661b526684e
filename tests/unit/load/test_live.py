"""The progress line says what was seen, and nothing that was not looked at."""

from __future__ import annotations

from brokerlab.load.live import live_text

PRODUCER = {"sent": 1000, "p99_ns": {"publish_latency": 3_000_000}}
CONSUMER = {"received": 900, "p99_ns": {"end_to_end_latency": 12_000_000}}


def test_rates_add_up_and_the_worst_p99_of_the_whole_way_is_told():
    slow = {"received": 100, "p99_ns": {"end_to_end_latency": 20_000_000}}
    lines = {"producer-1": PRODUCER, "producer-2": PRODUCER, "consumer-g1-1": CONSUMER, "consumer-g1-2": slow}
    assert live_text(lines) == "2,000/s sent, 1,000/s received, p99 20.0 ms"


def test_without_consumers_the_p99_is_that_of_publishing():
    assert live_text({"producer-1": PRODUCER}) == "1,000/s sent, p99 3.0 ms"


def test_a_latency_that_is_not_known_yet_is_not_told():
    lines = {"producer-1": {"sent": 5, "p99_ns": {}}, "consumer-g1-1": {"received": 0, "p99_ns": {}}}
    assert live_text(lines) == "5/s sent, 0/s received"
