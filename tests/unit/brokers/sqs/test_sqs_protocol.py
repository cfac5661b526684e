"""Requests as SQS wants them, and the messages in its answers."""

from __future__ import annotations

import json
from base64 import b64encode
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit.aws_json import with_tls
from brokerlab.brokers.kit.http_link import HttpAnswer, UnreadableAnswerError
from brokerlab.brokers.sqs.protocol import (
    encoded,
    encoded_bytes,
    messages_in,
    of_handles,
    queue_name,
    requests_to,
    send_body,
)
from brokerlab.model.plan import Endpoint

LOCAL = Endpoint(addresses=("127.0.0.1:9324",))


def answer(said: Any) -> HttpAnswer:
    return HttpAnswer(200, json.dumps(said).encode(), False)


@given(st.binary(max_size=200))
def test_any_payload_is_received_as_it_was_sent(payload: bytes) -> None:
    body = send_body('http://h/"q"', [encoded(payload)])
    sent = json.loads(body)
    assert sent["QueueUrl"] == 'http://h/"q"'
    (entry,) = sent["Entries"]
    assert len(entry["MessageBody"]) == encoded_bytes(len(payload))
    (message,) = messages_in(answer({"Messages": [{"Body": entry["MessageBody"], "ReceiptHandle": "h"}]}))
    assert (message.payload, message.handle, message.again) == (payload, "h", False)


def test_entries_are_numbered() -> None:
    assert [e["Id"] for e in json.loads(send_body("u", [b"YQ==", b"Yg=="]))["Entries"]] == ["0", "1"]
    assert of_handles("u", ["a", "b"], VisibilityTimeout=0)["Entries"] == [
        {"Id": "0", "ReceiptHandle": "a", "VisibilityTimeout": 0},
        {"Id": "1", "ReceiptHandle": "b", "VisibilityTimeout": 0},
    ]


def test_a_second_delivery_says_so() -> None:
    said = [{"Body": "", "ReceiptHandle": "h", "Attributes": {"ApproximateReceiveCount": str(n)}} for n in (1, 2)]
    assert [m.again for m in messages_in(answer({"Messages": said}))] == [False, True]


def test_a_body_that_is_not_ours_is_given_as_it_is_to_be_counted() -> None:
    (message,) = messages_in(answer({"Messages": [{"Body": "not base64!", "ReceiptHandle": "h"}]}))
    assert message.payload == b"not base64!"


def test_no_messages_are_no_error() -> None:
    assert messages_in(answer({})) == []
    assert messages_in(answer({"Messages": None})) == []
    assert messages_in(HttpAnswer(200, b"", False)) == []


@pytest.mark.parametrize("said", [[], {"Messages": 1}, {"Messages": [1]}, {"Messages": [{"Body": "YQ=="}]},
                                  {"Messages": [{"Body": 7, "ReceiptHandle": "h"}]}])  # fmt: skip
def test_an_answer_without_messages_of_its_form_is_unreadable(said: Any) -> None:
    with pytest.raises(UnreadableAnswerError):
        messages_in(answer(said))


@given(st.binary(max_size=80))
def test_damaged_answers_give_messages_or_an_error_and_nothing_else(noise: bytes) -> None:
    good = json.dumps({"Messages": [{"Body": b64encode(b"x" * 9).decode(), "ReceiptHandle": "h"}]}).encode()
    for body in (noise, good[: len(noise)], noise[:4] + good[4:], good.replace(b"Body", noise[:4])):
        with suppress(UnreadableAnswerError):
            messages_in(HttpAnswer(200, body, False))


def test_names_have_only_characters_that_are_allowed() -> None:
    assert queue_name("bl-1a.x/y_z", 3) == "bl-1a_x_y_z-p3"


def test_requests_are_signed_only_where_a_region_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "K")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    plain = requests_to(LOCAL).of("ListQueues", b"{}")
    assert b"x-amz-target: AmazonSQS.ListQueues\r\n" in plain
    assert b"host: 127.0.0.1:9324\r\n" in plain
    assert b"authorization" not in plain
    signed = requests_to(LOCAL.model_copy(update={"options": {"region": "eu-west-1"}})).of("ListQueues", b"{}")
    assert b"/eu-west-1/sqs/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-target, " in signed
    assert b"very-secret" not in signed


def test_the_port_of_https_means_https() -> None:
    assert with_tls(LOCAL).security is None
    aws = Endpoint(addresses=("sqs.eu-west-1.amazonaws.com:443",), options={})
    security = with_tls(aws).security
    assert security is not None
    assert security.tls
    assert b"host: sqs.eu-west-1.amazonaws.com\r\n" in requests_to(aws).of("ListQueues", b"{}")
