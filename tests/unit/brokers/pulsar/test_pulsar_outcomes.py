from __future__ import annotations

import _pulsar
import numpy as np
import pulsar
import pytest

from brokerlab.brokers.pulsar.driver_native import judged
from brokerlab.brokers.pulsar.outcomes import ANSWERS, RESULTS
from brokerlab.brokers.pulsar.speaking import SERVER_ERRORS
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


def test_every_error_of_the_protocol_is_in_the_table_of_the_path_in_c_and_no_other() -> None:
    assert set(SERVER_ERRORS) | {"ConnectionLost", "Timeout", "MessageTooBig"} == ANSWERS.names
    assert ANSWERS.with_outcome(ACKNOWLEDGED) == frozenset()


def test_codes_of_the_path_in_c_are_outcomes_with_their_kinds() -> None:
    codes = [0, -1, -2, -3, 1 + 2, 1 + 9, 1 + 99, -1]
    outcomes, kinds = judged(np.array(codes, np.int32))
    assert outcomes.tolist() == [
        ACKNOWLEDGED, UNKNOWN, UNKNOWN, REJECTED, UNKNOWN, REJECTED, UNKNOWN, UNKNOWN,
    ]  # fmt: skip
    assert kinds == {
        "ConnectionLost": 2,
        "Timeout": 1,
        "MessageTooBig": 1,
        "PersistenceError": 1,
        "ChecksumError": 1,
        "ServerError 99": 1,
    }
