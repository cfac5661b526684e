from __future__ import annotations

import _pulsar
import pulsar
import pytest

from brokerlab.brokers.pulsar.outcomes import RESULTS
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN


def test_every_result_of_the_library_is_in_the_table_and_no_other() -> None:
    assert set(_pulsar.Result.__members__) == RESULTS.names


def test_every_exception_of_the_library_is_a_result_in_the_table() -> None:
    exceptions = {
        name
        for name in dir(pulsar.exceptions)
        if isinstance(getattr(pulsar.exceptions, name), type)
        and issubclass(getattr(pulsar.exceptions, name), Exception)
    }
    assert len(exceptions) > 30
    assert exceptions - {"PulsarException"} <= RESULTS.names


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ("Ok", ACKNOWLEDGED),
        ("MessageTooBig", REJECTED),
        ("Timeout", UNKNOWN),
        ("BrokerPersistenceError", UNKNOWN),
        ("AlreadyClosed", UNKNOWN),
        ("ConsumerBusy", UNKNOWN),
        ("ResultOfAFutureVersion", UNKNOWN),
    ],
)
def test_a_result_settles_its_message(result: str, outcome: int) -> None:
    assert RESULTS.of(result) == outcome


def test_only_ok_is_an_acknowledgement() -> None:
    assert RESULTS.with_outcome(ACKNOWLEDGED) == {"Ok"}
