"""What an answer or an error means for a published message. The one place where that is decided."""

from __future__ import annotations

import json

from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN

# Exceptions raised by nats-py's publish with which nothing was sent, so that the message may be offered again.
NOT_TAKEN = frozenset(
    ["OutboundBufferLimitError", "ConnectionReconnectingError", "ConnectionClosedError", "ConnectionDrainingError"]
)
ERRORS = OutcomeTable(
    rejected="MaxPayloadError BadSubjectError BadHeaderError NoRespondersError",
    unknown="TimeoutError FlushTimeoutError DrainTimeoutError StaleConnectionError UnexpectedEOF ProtocolError",
    elsewhere="""
        Error BadSubscriptionError SlowConsumerError BadTimeoutError JsonParseError NotJSMessageError MsgAlreadyAckdError
        InvalidCallbackTypeError InvalidUserCredentialsError AuthorizationError SecureConnRequiredError
        SecureConnWantedError SecureConnFailedError ServerNotInPoolError NoServersError
        js.Error js.APIError js.ServiceUnavailableError js.ServerError js.NotFoundError js.BadRequestError
        js.ConsumerInvalidResetError js.FetchTimeoutError js.ConsumerSequenceMismatchError js.BucketNotFoundError
        js.BadBucketError js.KeyValueError js.KeyDeletedError js.KeyNotFoundError js.KeyWrongLastSequenceError
        js.NoKeysError js.KeyHistoryTooLargeError js.InvalidKeyError js.InvalidBucketNameError js.InvalidObjectNameError
        js.BadObjectMetaError js.LinkIsABucketError js.DigestMismatchError js.ObjectNotFoundError js.ObjectDeletedError
        js.ObjectAlreadyExists js.KeyValueLimitMarkerTTLNotSupportedError js.TooManyStalledMsgsError
        js.NoStreamResponseError""",
)


def error_name(error: type[BaseException]) -> str:
    """The name used in the tables: errors of the JetStream part have a prefix, since names occur twice."""
    prefix = "js." if error.__module__.startswith("nats.js") else ""
    return prefix + error.__name__


def was_not_taken(error: BaseException) -> bool:
    return _known_name(error) in NOT_TAKEN


def outcome_of_error(error: BaseException) -> int:
    """Of a message whose publishing raised this, and that was taken all the same."""
    return ERRORS.of(_known_name(error))


def _known_name(error: BaseException) -> str:
    """Of the class itself, else of the nearest base that is in a table."""
    names = [error_name(kind) for kind in type(error).__mro__]
    return next((name for name in names if name in NOT_TAKEN or name in ERRORS.names), names[0])


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
