"""What NATS's answers and nats-py's errors mean for a message."""

from __future__ import annotations

import inspect
import json

import nats.aio.errors
import nats.errors
import nats.js.errors
import pytest

from brokerlab.brokers.nats.outcomes import (
    ERRORS,
    NOT_TAKEN,
    error_name,
    outcome_of_answer,
    outcome_of_error,
    was_not_taken,
)
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN


def library_errors() -> set[str]:
    modules = (nats.errors, nats.js.errors)
    classes = [
        c for m in modules for _, c in inspect.getmembers(m, inspect.isclass) if issubclass(c, nats.errors.Error)
    ]
    return {error_name(c) for c in classes if c.__module__.startswith("nats")}


def test_every_error_class_of_the_library_is_in_the_table_and_no_other() -> None:
    assert library_errors() == ERRORS.names | NOT_TAKEN


def test_an_error_nobody_knows_is_unknown_and_a_subclass_means_what_its_base_means() -> None:
    assert outcome_of_error(RuntimeError()) == UNKNOWN
    special = type("SpecialPayloadError", (nats.errors.MaxPayloadError,), {})
    assert outcome_of_error(special()) == REJECTED
    assert not was_not_taken(special())
    assert was_not_taken(nats.errors.OutboundBufferLimitError())


def answer(code: int, err_code: int, text: str) -> bytes:
    return json.dumps({"error": {"code": code, "err_code": err_code, "description": text}, "stream": "s"}).encode()


@pytest.mark.parametrize(
    ("data", "status", "outcome"),
    [
        (b'{"stream":"s", "seq":7}', None, ACKNOWLEDGED),
        (b'{"domain":"d","stream":"s","seq":7}', None, ACKNOWLEDGED),
        (b"", "503", REJECTED),
        (b"", "408", UNKNOWN),
        (answer(400, 10054, "message size exceeds maximum allowed"), None, REJECTED),
        (answer(503, 10023, "insufficient resources"), None, REJECTED),
        (answer(503, 10077, "maximum bytes exceeded"), None, REJECTED),
        (answer(503, 10077, "write error: no space left"), None, UNKNOWN),
        (answer(503, 10008, "JetStream system temporarily unavailable"), None, UNKNOWN),
        (b"nonsense", None, UNKNOWN),
        (b"[]", None, UNKNOWN),
        (b"{}", None, UNKNOWN),
    ],
)
def test_an_answer_settles_its_message(data: bytes, status: str | None, outcome: int) -> None:
    found, error = outcome_of_answer(data, status)
    assert found == outcome
    assert (error is None) == (outcome == ACKNOWLEDGED)
