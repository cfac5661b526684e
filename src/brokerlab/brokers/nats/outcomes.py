"""What an answer or an error means for a published message. The one place where that is decided."""

from __future__ import annotations

import json
from enum import Enum

from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN


class Meaning(Enum):
    """What an exception raised by nats-py's publish says about the message."""

    NOT_TAKEN = "nothing was sent and it may be offered again"
    REJECTED = "nothing was sent and it never will be"
    UNKNOWN = "it may have been sent"
    NOT_ABOUT_PUBLISHING = "belongs to another part of the library; if it comes up all the same: unknown"


_ELSEWHERE = [
    "Error",
    "BadSubscriptionError",
    "SlowConsumerError",
    "BadTimeoutError",
    "JsonParseError",
    "NotJSMessageError",
    "MsgAlreadyAckdError",
    "InvalidCallbackTypeError",
    "InvalidUserCredentialsError",
    "AuthorizationError",
    "SecureConnRequiredError",
    "SecureConnWantedError",
    "SecureConnFailedError",
    "ServerNotInPoolError",
    "NoServersError",
    "js.Error",
    "js.APIError",
    "js.ServiceUnavailableError",
    "js.ServerError",
    "js.NotFoundError",
    "js.BadRequestError",
    "js.ConsumerInvalidResetError",
    "js.FetchTimeoutError",
    "js.ConsumerSequenceMismatchError",
    "js.BucketNotFoundError",
    "js.BadBucketError",
    "js.KeyValueError",
    "js.KeyDeletedError",
    "js.KeyNotFoundError",
    "js.KeyWrongLastSequenceError",
    "js.NoKeysError",
    "js.KeyHistoryTooLargeError",
    "js.InvalidKeyError",
    "js.InvalidBucketNameError",
    "js.InvalidObjectNameError",
    "js.BadObjectMetaError",
    "js.LinkIsABucketError",
    "js.DigestMismatchError",
    "js.ObjectNotFoundError",
    "js.ObjectDeletedError",
    "js.ObjectAlreadyExists",
    "js.KeyValueLimitMarkerTTLNotSupportedError",
    "js.TooManyStalledMsgsError",
    "js.NoStreamResponseError",
]

MEANINGS: dict[str, Meaning] = {
    "OutboundBufferLimitError": Meaning.NOT_TAKEN,
    "ConnectionReconnectingError": Meaning.NOT_TAKEN,
    "ConnectionClosedError": Meaning.NOT_TAKEN,
    "ConnectionDrainingError": Meaning.NOT_TAKEN,
    "MaxPayloadError": Meaning.REJECTED,
    "BadSubjectError": Meaning.REJECTED,
    "BadHeaderError": Meaning.REJECTED,
    "NoRespondersError": Meaning.REJECTED,
    "TimeoutError": Meaning.UNKNOWN,
    "FlushTimeoutError": Meaning.UNKNOWN,
    "DrainTimeoutError": Meaning.UNKNOWN,
    "StaleConnectionError": Meaning.UNKNOWN,
    "UnexpectedEOF": Meaning.UNKNOWN,
    "ProtocolError": Meaning.UNKNOWN,
} | dict.fromkeys(_ELSEWHERE, Meaning.NOT_ABOUT_PUBLISHING)


def error_name(error: type[BaseException]) -> str:
    """The name used in MEANINGS: errors of the JetStream part have a prefix, since names occur twice."""
    prefix = "js." if error.__module__.startswith("nats.js") else ""
    return prefix + error.__name__


def meaning_of(error: BaseException) -> Meaning:
    """By the class itself, else by the nearest base that is in the table, else unknown."""
    for kind in type(error).__mro__:
        meaning = MEANINGS.get(error_name(kind))
        if meaning is not None:
            return meaning
    return Meaning.UNKNOWN


# Error codes of JetStream with which a message is surely not stored, although their HTTP-like code is 5xx.
_REFUSED_CODES = {
    10023,  # insufficient resources
    10028,  # memory resources exceeded
    10047,  # storage resources exceeded
}
_STORE_FAILED = 10077  # two things under one code: a limit of the stream (refused), or the disk failed (unknown)


def outcome_of_answer(data: bytes, status: str | None) -> tuple[int, str | None]:
    """Outcome and error kind of the answer to one publish.

    Status 503 without data is "no responders": no stream listens on the subject (deleted, or between two leaders), so
    the message was stored nowhere: rejected. Answers that are no JSON object are unknown.
    """
    if status is not None:
        return (REJECTED, "503 no responders") if status == "503" else (UNKNOWN, f"status {status}")
    if data.startswith(b'{"stream"'):
        return ACKNOWLEDGED, None
    try:
        answer = json.loads(data)
        error = answer.get("error")
    except (ValueError, AttributeError):
        return UNKNOWN, "unreadable answer"
    if error is None:
        return (ACKNOWLEDGED, None) if "seq" in answer else (UNKNOWN, "unreadable answer")
    code, number, text = int(error.get("code", 500)), int(error.get("err_code", 0)), str(error.get("description", ""))
    refused = code < 500 or number in _REFUSED_CODES or (number == _STORE_FAILED and "maximum" in text)
    return (REJECTED if refused else UNKNOWN), f"{number} {text}"
