"""NATS Streaming's protocol: the fields of its messages, in Protocol Buffers. README.md has the requests and answers."""

from __future__ import annotations

from typing import NamedTuple

from brokerlab.brokers.kit.protobuf import UnreadableMessageError, fields_of, message, number_in, text_in, varint
from brokerlab.brokers.kit.subject_drivers import Pushed

_FIRST, _PROTOCOL, _DURABLE = 4, 1, "brokerlab"


def connect_request(client: str, heartbeats: bytes, connection: bytes) -> bytes:
    return message([(1, client), (2, heartbeats), (3, _PROTOCOL), (4, connection)])


class Subjects(NamedTuple):
    """Where requests go, as the server said."""

    publish: bytes
    subscribe: bytes
    close: bytes


def connect_response(data: bytes) -> tuple[Subjects, str]:
    """The subjects, or why the server refuses. Raises UnreadableMessageError."""
    fields = fields_of(data)
    refusal, found = text_in(fields, 5), Subjects(*(text_in(fields, number).encode() for number in (1, 2, 4)))
    if not refusal and not all(found):
        raise UnreadableMessageError("unreadable message: no subjects to send requests to")
    return found, refusal


def publish_head(client: str, connection: bytes, channel: str) -> bytes:
    """What is the same in all messages to a channel."""
    return message([(1, client), (6, connection), (3, channel)])


def publish_body(head: bytes, number: int, payload: bytes) -> bytes:
    tag = b"%d" % number
    return b"%b\x12%c%b\x2a%b%b" % (head, len(tag), tag, varint(len(payload)), payload)


def publish_error(data: bytes) -> str:
    """What a PubAck complains about; empty where the message is stored. Raises UnreadableMessageError."""
    if len(data) > 2 and data[0] == 0x0A and data[1] + 2 == len(data):  # the number and nothing else
        return ""
    fields = fields_of(data)
    if not text_in(fields, 1):
        raise UnreadableMessageError("unreadable message: an acknowledgement of nothing")
    return text_in(fields, 2)


def subscription_request(client: str, channel: str, group: str, inbox: bytes, in_flight: int, ack_wait_s: int) -> bytes:
    """Of a durable group, which begins with the first message there is."""
    named = message([(1, client), (2, channel), (3, group), (4, inbox), (7, _DURABLE)])
    return named + message([(5, in_flight), (6, ack_wait_s), (10, _FIRST)])


def keeping_request(client: str, channel: str, inbox: bytes) -> bytes:
    """Of a subscription that only keeps the channel: it is sent one message at most, and never again."""
    return message([(1, client), (2, channel), (4, inbox), (5, 1), (6, 2**31 - 1)])


def subscription_response(data: bytes) -> tuple[bytes, str]:
    """Where acknowledgements go, or why the server refuses. Raises UnreadableMessageError."""
    fields = fields_of(data)
    return text_in(fields, 2).encode(), text_in(fields, 3)


def received(data: bytes) -> Pushed:
    """Of a MsgProto. Raises UnreadableMessageError."""
    fields = fields_of(data)
    payload = fields.get(4, b"")
    if not isinstance(payload, bytes):
        raise UnreadableMessageError("unreadable message: a number where its content should be")
    return Pushed(number_in(fields, 1), payload, number_in(fields, 6) != 0)
