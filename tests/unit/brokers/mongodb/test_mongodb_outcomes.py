"""What errors of pymongo say about messages."""

from __future__ import annotations

import inspect

import numpy as np
import pymongo.errors
import pytest
from pymongo.errors import AutoReconnect, BulkWriteError, DocumentTooLarge, OperationFailure, PyMongoError

from brokerlab.brokers.kit.blocking import Batch
from brokerlab.brokers.mongodb.outcomes import ERRORS, told_of
from brokerlab.brokers.mongodb.queues import Identities
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN


def outcomes(error: Exception, *, first: bool = True, last: bool = True) -> list[int]:
    """Of five messages, by their numbers."""
    batch = Batch([b"x"] * 5, [0] * 5, [np.arange(10, 15)])
    told = told_of(error, batch, first=first, last=last)
    found = {number: one.outcome for one in told for number in one.numbers.tolist()}
    assert sum(len(one.numbers) for one in told) == 5, "each is told of once"
    assert all((one.error is None) == (one.outcome == ACKNOWLEDGED) for one in told)
    return [found[number] for number in range(10, 15)]


def bulk(code: int, index: int, concern: bool = False) -> BulkWriteError:
    concerns = [{"code": 64, "errmsg": "waiting timed out"}] if concern else []
    return BulkWriteError({"writeErrors": [{"index": index, "code": code}], "writeConcernErrors": concerns})


def test_every_error_of_the_library_is_in_the_table() -> None:
    named = inspect.getmembers(pymongo.errors, inspect.isclass)
    known = {name for name, e in named if issubclass(e, PyMongoError | DocumentTooLarge)}
    assert known == ERRORS.names


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (AutoReconnect("cut"), UNKNOWN),
        (DocumentTooLarge("17 MB"), REJECTED),
        (OperationFailure("not allowed", 13), REJECTED),
        (OperationFailure("lost my database", 1), UNKNOWN),  # FerretDB's, when PostgreSQL is gone
        (OperationFailure("something new", 99_999), UNKNOWN),
    ],
)
def test_only_a_sure_refusal_is_rejected(error: Exception, outcome: int) -> None:
    assert outcomes(error) == [outcome] * 5


def test_a_batch_ends_at_the_first_message_that_is_refused() -> None:
    assert outcomes(bulk(121, 2)) == [ACKNOWLEDGED, ACKNOWLEDGED, REJECTED, REJECTED, REJECTED]
    assert outcomes(bulk(1, 2)) == [UNKNOWN] * 5
    assert outcomes(bulk(121, 2, concern=True)) == [UNKNOWN] * 5, "stored, but not as often as asked for"


def test_a_message_that_only_some_groups_have_is_unknown() -> None:
    assert outcomes(bulk(121, 2), first=False) == [UNKNOWN] * 5
    assert outcomes(bulk(121, 2), last=False) == [UNKNOWN, UNKNOWN, REJECTED, REJECTED, REJECTED]
    assert outcomes(OperationFailure("not allowed", 13), first=False) == [UNKNOWN] * 5


def test_identities_grow_though_the_clock_stands_still_or_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1000, 1000, 5])
    monkeypatch.setattr("brokerlab.brokers.mongodb.queues.time.time_ns", lambda: next(clock))
    own = Identities()
    taken = [*own.take(3), *own.take(2), *own.take(2)]
    assert taken == sorted(set(taken))
    monkeypatch.setattr("brokerlab.brokers.mongodb.queues.time.time_ns", lambda: 1000)
    assert not set(Identities().take(3)) & set(Identities().take(3))
