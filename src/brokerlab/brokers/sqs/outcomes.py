"""What the answer to a batch says about each of its messages: the one place."""

from __future__ import annotations

from typing import Any

from brokerlab.brokers.kit.aws_json import content, refusal, text_in
from brokerlab.brokers.kit.http_link import HttpAnswer, UnreadableAnswerError
from brokerlab.brokers.kit.http_pool import lost_words
from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN

# Kinds of errors of a whole request, and of entries in one that went through: these are found before anything is stored.
# What the service says of itself (InternalError, ServiceUnavailable, HTTP 5xx) may have come too late for that.
ERRORS = OutcomeTable(
    rejected="""QueueDoesNotExist NonExistentQueue QueueDeletedRecently InvalidParameterValue InvalidAttributeValue
        InvalidMessageContents MissingParameter MissingAction InvalidAction UnsupportedOperation InvalidAddress
        InvalidSecurity InvalidClientTokenId MissingAuthenticationToken MissingAuthenticationTokenException
        IncompleteSignature IncompleteSignatureException SignatureDoesNotMatch InvalidSignatureException
        UnrecognizedClientException ExpiredToken ExpiredTokenException AccessDenied AccessDeniedException OptInRequired
        NotAuthorized RequestExpired RequestThrottled ThrottlingException Throttling TooManyRequestsException
        OverLimit BatchRequestTooLong TooManyEntriesInBatchRequest EmptyBatchRequest BatchEntryIdsNotDistinct
        InvalidBatchEntryId KmsAccessDenied KmsDisabled KmsInvalidKeyUsage KmsInvalidState KmsNotFound KmsOptInRequired
        KmsThrottled ValidationException ValidationError MessageTooLong SerializationException""",
    unknown="InternalError InternalFailure InternalServerError ServiceUnavailable RequestTimeout",
)


def is_too_many(kind: str) -> bool:
    """Whether the service only says that it was asked too often."""
    return "Throttl" in kind or kind in ("OverLimit", "TooManyRequestsException")


def batch_outcomes(answer: HttpAnswer | OSError, count: int) -> list[tuple[int, str]]:
    """For each entry its outcome and, where it was not acknowledged, the kind of the error."""
    if isinstance(answer, OSError):
        return [(UNKNOWN, lost_words(answer))] * count
    if answer.status != 200:
        said = refusal(answer)
        kind = said.partition(":")[0]
        return [(UNKNOWN if answer.status >= 500 else ERRORS.of(kind), kind)] * count
    found = [(UNKNOWN, "no word about it in the answer")] * count
    places = {str(i): i for i in range(count)}
    try:
        said_of = content(answer)
        for name, judge in (("Successful", _stored), ("Failed", _failed)):
            for entry in said_of.get(name) or []:
                found[places[entry["Id"]]] = judge(entry)
    except (UnreadableAnswerError, AttributeError, KeyError, TypeError):
        return [(UNKNOWN, "unreadable answer")] * count
    return found


def _stored(entry: dict[str, Any]) -> tuple[int, str]:
    return (ACKNOWLEDGED, "") if entry.get("MessageId") else (UNKNOWN, "unreadable answer")


def _failed(entry: dict[str, Any]) -> tuple[int, str]:
    kind = text_in(entry, "Code").rpartition(".")[2]
    refused = ERRORS.of(kind) == REJECTED or entry.get("SenderFault") is True
    return (REJECTED if refused else UNKNOWN), kind or "no reason given"
