from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from brokerlab.brokers.kafka.outcomes import (
    CODES,
    CONSUMER_STOPS,
    consumer_must_stop,
    outcome_of,
)
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN

LIBRARY = {name for name in dir(KafkaError) if isinstance(getattr(KafkaError, name), int) and not name.startswith("__")}


def test_every_error_of_the_library_has_been_thought_about() -> None:
    assert len(LIBRARY) > 150
    assert CODES.names == LIBRARY
    assert CONSUMER_STOPS <= LIBRARY


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("NO_ERROR", ACKNOWLEDGED),
        ("MSG_SIZE_TOO_LARGE", REJECTED),
        ("TOPIC_AUTHORIZATION_FAILED", REJECTED),
        ("_MSG_TIMED_OUT", UNKNOWN),
        ("_TRANSPORT", UNKNOWN),
        ("REQUEST_TIMED_OUT", UNKNOWN),
        ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", UNKNOWN),
        ("NOT_ENOUGH_REPLICAS", UNKNOWN),
        ("_PURGE_INFLIGHT", UNKNOWN),
    ],
)
def test_outcomes(name: str, outcome: int) -> None:
    assert outcome_of(getattr(KafkaError, name)) == outcome


def test_a_code_nobody_knows_says_nothing() -> None:
    assert outcome_of(31_999) == UNKNOWN


def test_a_consumer_goes_on_after_what_heals_and_stops_at_what_does_not() -> None:
    assert not consumer_must_stop(KafkaError._TRANSPORT)
    assert not consumer_must_stop(KafkaError._ALL_BROKERS_DOWN)
    assert consumer_must_stop(KafkaError._FATAL)
    assert consumer_must_stop(KafkaError.TOPIC_AUTHORIZATION_FAILED)
