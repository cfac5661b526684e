"""What RabbitMQ's answers and the client libraries' errors mean for a message."""

from __future__ import annotations

import inspect

import pika.exceptions
import pika.spec
import pytest
import rstream.exceptions

from brokerlab.brokers.rabbitmq.outcomes import (
    CODEC_ERRORS,
    CONFIRMS,
    REPLY_CODES,
    STREAM_CODES,
    outcome_of_return,
    outcome_of_stream_code,
)
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN

NO_REPLY_CODES = {"PORT", "PERSISTENT_DELIVERY_MODE", "TRANSIENT_DELIVERY_MODE"}


def test_every_reply_code_of_amqp_is_in_the_table_and_no_other() -> None:
    known = {
        value: name
        for name, value in vars(pika.spec).items()
        if name.isupper() and isinstance(value, int) and not name.startswith("FRAME_M") and value >= 200
    }
    known = {v: n for v, n in known.items() if n not in NO_REPLY_CODES and not n.startswith("FRAME_END")}
    assert {code: name for code, (name, _) in REPLY_CODES.items()} == known


def test_every_error_class_of_pika_is_in_the_table_and_no_other() -> None:
    classes = inspect.getmembers(pika.exceptions, inspect.isclass)
    assert {n for n, c in classes if c.__module__ == "pika.exceptions"} == set(CODEC_ERRORS)


def test_every_response_code_that_the_stream_library_knows_is_in_the_table_and_no_other() -> None:
    classes = [c for _, c in inspect.getmembers(rstream.exceptions, inspect.isclass)]
    codes = {c.code for c in classes if isinstance(getattr(c, "code", None), int)}
    assert codes | {1} == set(STREAM_CODES)


@pytest.mark.parametrize(("code", "outcome"), [(312, REJECTED), (313, REJECTED), (541, UNKNOWN), (999, UNKNOWN)])
def test_a_returned_message_is_rejected_only_where_the_code_says_so(code: int, outcome: int) -> None:
    assert outcome_of_return(code, "said")[0] == outcome


def test_a_confirm_acknowledges_and_a_refusal_rejects() -> None:
    assert CONFIRMS == {"Basic.Ack": ACKNOWLEDGED, "Basic.Nack": REJECTED, "Basic.Return": REJECTED}


@pytest.mark.parametrize(
    ("code", "outcome"), [(2, REJECTED), (18, REJECTED), (15, UNKNOWN), (6, UNKNOWN), (77, UNKNOWN)]
)
def test_a_publish_error_of_a_stream_rejects_only_what_surely_was_not_written(code: int, outcome: int) -> None:
    found, error = outcome_of_stream_code(code)
    assert found == outcome
    assert error.startswith(f"{code} ")
