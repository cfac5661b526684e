"""What an answer, a reply code or an error means for a published message. The one place where that is decided."""

from __future__ import annotations

from brokerlab.brokers.kit.names import names
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN

# AMQP 0.9.1: how a channel or connection may be closed under messages that are still open. The server closes for one
# of them and drops what it has not handled, but it does not say which were handled before: all open ones are unknown.
# Only a code that comes with basic.return speaks of one message, which no queue has taken.
REPLY_CODES: dict[int, tuple[str, int]] = {
    200: ("REPLY_SUCCESS", UNKNOWN),
    311: ("CONTENT_TOO_LARGE", UNKNOWN),
    312: ("NO_ROUTE", REJECTED),
    313: ("NO_CONSUMERS", REJECTED),
    320: ("CONNECTION_FORCED", UNKNOWN),
    402: ("INVALID_PATH", UNKNOWN),
    403: ("ACCESS_REFUSED", UNKNOWN),
    404: ("NOT_FOUND", UNKNOWN),
    405: ("RESOURCE_LOCKED", UNKNOWN),
    406: ("PRECONDITION_FAILED", UNKNOWN),
    501: ("FRAME_ERROR", UNKNOWN),
    502: ("SYNTAX_ERROR", UNKNOWN),
    503: ("COMMAND_INVALID", UNKNOWN),
    504: ("CHANNEL_ERROR", UNKNOWN),
    505: ("UNEXPECTED_FRAME", UNKNOWN),
    506: ("RESOURCE_ERROR", UNKNOWN),
    530: ("NOT_ALLOWED", UNKNOWN),
    540: ("NOT_IMPLEMENTED", UNKNOWN),
    541: ("INTERNAL_ERROR", UNKNOWN),
}

# AMQP 0.9.1: methods by which the server settles a publish.
CONFIRMS = {"Basic.Ack": ACKNOWLEDGED, "Basic.Nack": REJECTED, "Basic.Return": REJECTED}

# The stream protocol's response codes, as publish errors carry them: one message each.
STREAM_CODES: dict[int, tuple[str, int]] = {
    1: ("ok", ACKNOWLEDGED),
    2: ("stream does not exist", REJECTED),
    3: ("subscription id already exists", UNKNOWN),
    4: ("subscription id does not exist", UNKNOWN),
    5: ("stream already exists", UNKNOWN),
    6: ("stream not available", UNKNOWN),
    7: ("SASL mechanism not supported", UNKNOWN),
    8: ("authentication failure", UNKNOWN),
    9: ("SASL error", UNKNOWN),
    10: ("SASL challenge", UNKNOWN),
    11: ("SASL authentication failure loopback", UNKNOWN),
    12: ("virtual host access failure", UNKNOWN),
    13: ("unknown frame", UNKNOWN),
    14: ("frame too large", UNKNOWN),
    15: ("internal error", UNKNOWN),
    16: ("access refused", REJECTED),
    17: ("precondition failed", REJECTED),
    18: ("publisher does not exist", REJECTED),
    19: ("no offset", UNKNOWN),
}

# Errors of pika, whose codec reads and writes everything that is not a message. None of them settles a message:
# after any of them the connection is given up, and what is open becomes unknown.
CODEC_ERRORS = names("""
    AMQPError AMQPConnectionError ConnectionOpenAborted StreamLostError IncompatibleProtocolError AuthenticationError
    ProbableAuthenticationError ProbableAccessDeniedError NoFreeChannels ConnectionWrongStateError ConnectionClosed
    ConnectionClosedByBroker ConnectionClosedByClient ConnectionBlockedTimeout AMQPHeartbeatTimeout AMQPChannelError
    ChannelWrongStateError ChannelClosed ChannelClosedByBroker ChannelClosedByClient DuplicateConsumerTag
    ConsumerCancelled UnroutableError NackError InvalidChannelNumber ProtocolSyntaxError UnexpectedFrameError
    ProtocolVersionMismatch BodyTooLongError InvalidFrameError InvalidFieldTypeException UnsupportedAMQPFieldException
    MethodNotImplemented ChannelError ReentrancyError ShortStringTooLong DuplicateGetOkCallback
""")


def outcome_of_return(code: int, text: str) -> tuple[int, str]:
    """Outcome and error kind of basic.return; an unknown code is UNKNOWN."""
    name, outcome = REPLY_CODES.get(code, (text, UNKNOWN))
    return (outcome, f"{code} {name}")


def outcome_of_stream_code(code: int) -> tuple[int, str]:
    name, outcome = STREAM_CODES.get(code, ("unknown code", UNKNOWN))
    return (outcome, f"{code} {name}")
