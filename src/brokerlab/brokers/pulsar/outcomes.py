"""What a result of pulsar-client means. The one place where that is decided.

The client sends again on its own after a lost connection, until its send timeout: so a refusal that the *broker* gives
while it is being sent again may follow an attempt that was stored. Only what the client finds by itself before it
sends anything, or what the broker checks before every write, is surely not written.
"""

from __future__ import annotations

from enum import Enum

from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN


class Meaning(Enum):
    """What a result says about a published message."""

    ACKNOWLEDGED = "stored as the namespace's quorums demand"
    REJECTED = "not stored, and it never will be"
    UNKNOWN = "it may have been stored"
    NOT_ABOUT_PUBLISHING = "belongs to another part of the library; if it comes up all the same: unknown"


MEANINGS: dict[str, Meaning] = {
    "Ok": Meaning.ACKNOWLEDGED,
    # Found before anything is sent.
    "InvalidMessage": Meaning.REJECTED,
    "MessageTooBig": Meaning.REJECTED,
    "ProducerQueueIsFull": Meaning.REJECTED,
    "MemoryBufferIsFull": Meaning.REJECTED,
    "CryptoError": Meaning.REJECTED,
    "ProducerNotInitialized": Meaning.REJECTED,
    # Whatever was sent before may be stored.
    "UnknownError": Meaning.UNKNOWN,
    "Timeout": Meaning.UNKNOWN,
    "LookupError": Meaning.UNKNOWN,
    "ConnectError": Meaning.UNKNOWN,
    "ReadError": Meaning.UNKNOWN,
    "AuthenticationError": Meaning.UNKNOWN,
    "AuthorizationError": Meaning.UNKNOWN,
    "BrokerMetadataError": Meaning.UNKNOWN,
    "BrokerPersistenceError": Meaning.UNKNOWN,
    "ChecksumError": Meaning.UNKNOWN,
    "NotConnected": Meaning.UNKNOWN,
    "AlreadyClosed": Meaning.UNKNOWN,
    "ProducerBusy": Meaning.UNKNOWN,
    "ServiceUnitNotReady": Meaning.UNKNOWN,
    "ProducerBlockedQuotaExceededError": Meaning.UNKNOWN,
    "ProducerBlockedQuotaExceededException": Meaning.UNKNOWN,
    "TopicNotFound": Meaning.UNKNOWN,
    "TopicTerminated": Meaning.UNKNOWN,
    "ProducerFenced": Meaning.UNKNOWN,
    "NotAllowedError": Meaning.UNKNOWN,
    "Interrupted": Meaning.UNKNOWN,
    "TooManyLookupRequestException": Meaning.UNKNOWN,
} | dict.fromkeys(
    [
        "InvalidConfiguration",
        "ErrorGettingAuthenticationData",
        "ConsumerBusy",
        "ConsumerNotInitialized",
        "InvalidTopicName",
        "InvalidUrl",
        "OperationNotSupported",
        "SubscriptionNotFound",
        "ConsumerNotFound",
        "UnsupportedVersionError",
        "IncompatibleSchema",
        "ConsumerAssignError",
        "CumulativeAcknowledgementNotAllowedError",
        "TransactionCoordinatorNotFoundError",
        "InvalidTxnStatusError",
        "TransactionConflict",
        "TransactionNotFound",
    ],
    Meaning.NOT_ABOUT_PUBLISHING,
)
_OUTCOMES = {Meaning.ACKNOWLEDGED: ACKNOWLEDGED, Meaning.REJECTED: REJECTED}


def outcome_of(result_name: str) -> int:
    """The outcome of a published message; a result nobody knows is unknown."""
    return _OUTCOMES.get(MEANINGS.get(result_name, Meaning.UNKNOWN), UNKNOWN)
