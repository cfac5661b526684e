"""NATS Streaming's messages, and what its answers mean."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit.protobuf import UnreadableMessageError, field, fields_of, message
from brokerlab.brokers.nats_streaming import messages
from brokerlab.brokers.nats_streaming.link import channel_name, client_name
from brokerlab.brokers.nats_streaming.monitoring import _left
from brokerlab.brokers.nats_streaming.producer import outcome_of
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN


@given(st.binary(max_size=300), st.integers(1, 2**40))
def test_a_published_message_has_all_its_fields(payload: bytes, number: int) -> None:
    head = messages.publish_head("client", b"connection", "d.0")
    found = fields_of(messages.publish_body(head, number, payload))
    wanted = {1: b"client", 2: b"%d" % number, 3: b"d.0", 5: payload, 6: b"connection"}
    assert found == wanted or (not payload and found == wanted | {5: b""})


@given(st.binary(max_size=300), st.integers(1, 2**63 - 1), st.booleans())
def test_a_delivered_message_is_read(payload: bytes, sequence: int, again: bool) -> None:
    data = message([(1, sequence), (2, "d.0"), (4, payload), (5, 1), (6, int(again))])
    assert messages.received(data) == (sequence, payload, again)


def test_the_server_says_where_requests_go_or_why_not() -> None:
    good = message([(1, "pub"), (2, "sub"), (3, "unsub"), (4, "close")])
    assert messages.connect_response(good) == ((b"pub", b"sub", b"close"), "")
    assert messages.connect_response(field(5, "stan: no"))[1] == "stan: no"
    with pytest.raises(UnreadableMessageError):
        messages.connect_response(b"")


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (message([(1, "17")]), ACKNOWLEDGED),
        (message([(1, "17"), (2, "stan: invalid publish request")]), REJECTED),
        (message([(1, "17"), (2, "too many channels")]), REJECTED),
        (message([(1, "17"), (2, "node is not the leader")]), UNKNOWN),
        (message([(1, "17"), (2, "unable to write to disk")]), UNKNOWN),
        (b"", UNKNOWN),
        (b"\x0a\x00", UNKNOWN),
        (b"noise", UNKNOWN),
    ],
)
def test_only_what_is_surely_not_stored_is_rejected(answer: bytes, outcome: int) -> None:
    found, error = outcome_of(answer)
    assert found == outcome
    assert (error == "") == (outcome == ACKNOWLEDGED)


@given(st.binary(max_size=60))
def test_whatever_comes_nothing_but_unreadable_messages_is_raised(noise: bytes) -> None:
    outcome_of(noise)
    for parse in (messages.received, messages.connect_response, messages.subscription_response):
        with suppress(UnreadableMessageError):
            parse(noise)


def test_names_have_only_characters_that_are_allowed() -> None:
    assert channel_name("bl-1 a.x/y", 2) == "bl-1_a_x_y.2"
    first, second = client_name("producer-1.0"), client_name("producer-1.0")
    assert first != second
    assert first.startswith("producer-1_0-")


def test_a_group_has_left_what_was_not_sent_and_what_was_not_acknowledged() -> None:
    members = [
        {"queue_name": "brokerlab:g", "last_sent": 90, "pending_count": 3},
        {"queue_name": "brokerlab:g", "last_sent": 80, "pending_count": 2},
        {"queue_name": "brokerlab:other", "last_sent": 100, "pending_count": 50},
        {"last_sent": 1, "pending_count": 1},
    ]
    assert _left({"last_seq": 100, "subscriptions": members}, "g") == 10 + 5
    assert _left({"last_seq": 100}, "g") == 100
