"""What a result of pulsar-client means. The one place where that is decided.

The client sends again on its own after a lost connection, until its send timeout: so a refusal that the *broker* gives
while it is being sent again may follow an attempt that was stored. Only what the client finds by itself before it
sends anything, or what the broker checks before every write, is surely not written.
"""

from __future__ import annotations

from brokerlab.brokers.kit.outcomes import OutcomeTable

RESULTS = OutcomeTable(
    acknowledged="Ok",  # stored as the namespace's quorums demand
    # Found before anything is sent.
    rejected="""
        InvalidMessage MessageTooBig ProducerQueueIsFull MemoryBufferIsFull CryptoError ProducerNotInitialized""",
    # Whatever was sent before may be stored.
    unknown="""
        UnknownError Timeout LookupError ConnectError ReadError AuthenticationError AuthorizationError
        BrokerMetadataError BrokerPersistenceError ChecksumError NotConnected AlreadyClosed ProducerBusy
        ServiceUnitNotReady ProducerBlockedQuotaExceededError ProducerBlockedQuotaExceededException TopicNotFound
        TopicTerminated ProducerFenced NotAllowedError Interrupted TooManyLookupRequestException""",
    elsewhere="""
        InvalidConfiguration ErrorGettingAuthenticationData ConsumerBusy ConsumerNotInitialized InvalidTopicName
        InvalidUrl OperationNotSupported SubscriptionNotFound ConsumerNotFound UnsupportedVersionError
        IncompatibleSchema ConsumerAssignError CumulativeAcknowledgementNotAllowedError
        TransactionCoordinatorNotFoundError InvalidTxnStatusError TransactionConflict TransactionNotFound""",
)

# What the path in C reports (native/pulsar_produce.h). It sends nothing twice, so what a broker refuses before it writes
# is surely not stored.
ANSWERS = OutcomeTable(
    rejected="MessageTooBig ChecksumError TopicTerminatedError NotAllowedError",
    unknown="""
        ConnectionLost Timeout UnknownError MetadataError PersistenceError AuthenticationError AuthorizationError
        ServiceNotReady ProducerBlockedQuotaExceededError ProducerBlockedQuotaExceededException TopicNotFound
        TooManyRequests ProducerBusy ProducerFenced""",
    elsewhere="""
        ConsumerBusy UnsupportedVersionError SubscriptionNotFound ConsumerNotFound InvalidTopicName IncompatibleSchema
        ConsumerAssignError TransactionCoordinatorNotFound InvalidTxnStatus TransactionConflict TransactionNotFound""",
)
