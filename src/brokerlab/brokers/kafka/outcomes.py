"""What an error code of Kafka or of librdkafka says about a message, and about a consumer. The one table of it.

A code means REJECTED only when it says that the message was not written *and* the client does not retry it: behind a
code that is retried (NOT_ENOUGH_REPLICAS, NOT_LEADER_FOR_PARTITION, ...) an earlier attempt may have been written.
"""

from __future__ import annotations

from functools import cache

from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN

ACKNOWLEDGED_CODES = frozenset({"NO_ERROR", "DUPLICATE_SEQUENCE_NUMBER"})  # a duplicate sequence: it is there already
REJECTED_CODES = frozenset(
    [
        "CLUSTER_AUTHORIZATION_FAILED",
        "INVALID_MSG_SIZE",
        "INVALID_RECORD",
        "INVALID_REQUIRED_ACKS",
        "INVALID_TIMESTAMP",
        "MSG_SIZE_TOO_LARGE",
        "POLICY_VIOLATION",
        "RECORD_LIST_TOO_LARGE",
        "TOPIC_AUTHORIZATION_FAILED",
        "TOPIC_EXCEPTION",
        "UNSUPPORTED_COMPRESSION_TYPE",
        "UNSUPPORTED_FOR_MESSAGE_FORMAT",
        "_BAD_COMPRESSION",
        "_INVALID_ARG",
        "_QUEUE_FULL",
    ]
)
UNKNOWN_CODES = frozenset(
    [
        "BROKER_NOT_AVAILABLE",
        "CONCURRENT_TRANSACTIONS",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
        "DELEGATION_TOKEN_AUTH_DISABLED",
        "DELEGATION_TOKEN_EXPIRED",
        "DELEGATION_TOKEN_NOT_FOUND",
        "DELEGATION_TOKEN_OWNER_MISMATCH",
        "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
        "DUPLICATE_RESOURCE",
        "DUPLICATE_VOTER",
        "ELECTION_NOT_NEEDED",
        "ELIGIBLE_LEADERS_NOT_AVAILABLE",
        "FEATURE_UPDATE_FAILED",
        "FENCED_INSTANCE_ID",
        "FENCED_LEADER_EPOCH",
        "FENCED_MEMBER_EPOCH",
        "FENCED_STATE_EPOCH",
        "FETCH_SESSION_ID_NOT_FOUND",
        "GROUP_AUTHORIZATION_FAILED",
        "GROUP_ID_NOT_FOUND",
        "GROUP_MAX_SIZE_REACHED",
        "GROUP_SUBSCRIBED_TO_TOPIC",
        "ILLEGAL_GENERATION",
        "ILLEGAL_SASL_STATE",
        "INCONSISTENT_GROUP_PROTOCOL",
        "INCONSISTENT_TOPIC_ID",
        "INCONSISTENT_VOTER_SET",
        "INVALID_COMMIT_OFFSET_SIZE",
        "INVALID_CONFIG",
        "INVALID_FETCH_SESSION_EPOCH",
        "INVALID_GROUP_ID",
        "INVALID_MSG",
        "INVALID_PARTITIONS",
        "INVALID_PRINCIPAL_TYPE",
        "INVALID_PRODUCER_EPOCH",
        "INVALID_PRODUCER_ID_MAPPING",
        "INVALID_RECORD_STATE",
        "INVALID_REGISTRATION",
        "INVALID_REGULAR_EXPRESSION",
        "INVALID_REPLICATION_FACTOR",
        "INVALID_REPLICA_ASSIGNMENT",
        "INVALID_REQUEST",
        "INVALID_SESSION_TIMEOUT",
        "INVALID_SHARE_SESSION_EPOCH",
        "INVALID_TRANSACTION_TIMEOUT",
        "INVALID_TXN_STATE",
        "INVALID_UPDATE_VERSION",
        "INVALID_VOTER_KEY",
        "KAFKA_STORAGE_ERROR",
        "LEADER_NOT_AVAILABLE",
        "LISTENER_NOT_FOUND",
        "LOG_DIR_NOT_FOUND",
        "MEMBER_ID_REQUIRED",
        "MISMATCHED_ENDPOINT_TYPE",
        "NETWORK_EXCEPTION",
        "NON_EMPTY_GROUP",
        "NOT_CONTROLLER",
        "NOT_COORDINATOR",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "NOT_LEADER_FOR_PARTITION",
        "NO_REASSIGNMENT_IN_PROGRESS",
        "OFFSET_METADATA_TOO_LARGE",
        "OFFSET_NOT_AVAILABLE",
        "OFFSET_OUT_OF_RANGE",
        "OPERATION_NOT_ATTEMPTED",
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "PREFERRED_LEADER_NOT_AVAILABLE",
        "PRINCIPAL_DESERIALIZATION_FAILURE",
        "PRODUCER_FENCED",
        "REASSIGNMENT_IN_PROGRESS",
        "REBALANCE_IN_PROGRESS",
        "REBOOTSTRAP_REQUIRED",
        "REPLICA_NOT_AVAILABLE",
        "REQUEST_TIMED_OUT",
        "RESOURCE_NOT_FOUND",
        "SASL_AUTHENTICATION_FAILED",
        "SECURITY_DISABLED",
        "SHARE_SESSION_LIMIT_REACHED",
        "SHARE_SESSION_NOT_FOUND",
        "STALE_BROKER_EPOCH",
        "STALE_CTRL_EPOCH",
        "STALE_MEMBER_EPOCH",
        "STREAMS_INVALID_TOPOLOGY",
        "STREAMS_INVALID_TOPOLOGY_EPOCH",
        "STREAMS_TOPOLOGY_FENCED",
        "TELEMETRY_TOO_LARGE",
        "THROTTLING_QUOTA_EXCEEDED",
        "TOPIC_ALREADY_EXISTS",
        "TOPIC_DELETION_DISABLED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "TRANSACTION_ABORTABLE",
        "TRANSACTION_COORDINATOR_FENCED",
        "UNACCEPTABLE_CREDENTIAL",
        "UNKNOWN",
        "UNKNOWN_CONTROLLER_ID",
        "UNKNOWN_LEADER_EPOCH",
        "UNKNOWN_MEMBER_ID",
        "UNKNOWN_PRODUCER_ID",
        "UNKNOWN_SUBSCRIPTION_ID",
        "UNKNOWN_TOPIC_ID",
        "UNKNOWN_TOPIC_OR_PART",
        "UNRELEASED_INSTANCE_ID",
        "UNSTABLE_OFFSET_COMMIT",
        "UNSUPPORTED_ASSIGNOR",
        "UNSUPPORTED_ENDPOINT_TYPE",
        "UNSUPPORTED_SASL_MECHANISM",
        "UNSUPPORTED_VERSION",
        "VOTER_NOT_FOUND",
        "_ALL_BROKERS_DOWN",
        "_APPLICATION",
        "_ASSIGNMENT_LOST",
        "_ASSIGN_PARTITIONS",
        "_AUTHENTICATION",
        "_AUTO_OFFSET_RESET",
        "_BAD_MSG",
        "_CONFLICT",
        "_CRIT_SYS_RESOURCE",
        "_DESTROY",
        "_DESTROY_BROKER",
        "_EXISTING_SUBSCRIPTION",
        "_FAIL",
        "_FATAL",
        "_FENCED",
        "_FS",
        "_GAPLESS_GUARANTEE",
        "_INCONSISTENT",
        "_INTR",
        "_INVALID_DIFFERENT_RECORD",
        "_INVALID_TYPE",
        "_IN_PROGRESS",
        "_ISR_INSUFF",
        "_KEY_DESERIALIZATION",
        "_KEY_SERIALIZATION",
        "_LOG_TRUNCATION",
        "_MAX_POLL_EXCEEDED",
        "_MSG_TIMED_OUT",
        "_NODE_UPDATE",
        "_NOENT",
        "_NOOP",
        "_NOT_CONFIGURED",
        "_NOT_IMPLEMENTED",
        "_NO_OFFSET",
        "_OUTDATED",
        "_PARTIAL",
        "_PARTITION_EOF",
        "_PREV_IN_PROGRESS",
        "_PURGE_INFLIGHT",
        "_PURGE_QUEUE",
        "_READ_ONLY",
        "_RESOLVE",
        "_RETRY",
        "_REVOKE_PARTITIONS",
        "_SSL",
        "_STATE",
        "_TIMED_OUT",
        "_TIMED_OUT_QUEUE",
        "_TRANSPORT",
        "_UNDERFLOW",
        "_UNKNOWN_BROKER",
        "_UNKNOWN_GROUP",
        "_UNKNOWN_PARTITION",
        "_UNKNOWN_PROTOCOL",
        "_UNKNOWN_TOPIC",
        "_UNSUPPORTED_FEATURE",
        "_VALUE_DESERIALIZATION",
        "_VALUE_SERIALIZATION",
        "_WAIT_CACHE",
        "_WAIT_COORD",
    ]
)
# Errors a consumer meets that waiting does not heal; all others librdkafka heals by itself.
CONSUMER_STOPS = frozenset(
    [
        "CLUSTER_AUTHORIZATION_FAILED",
        "FENCED_INSTANCE_ID",
        "GROUP_AUTHORIZATION_FAILED",
        "SASL_AUTHENTICATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
        "UNSUPPORTED_VERSION",
        "_AUTHENTICATION",
        "_FATAL",
        "_FENCED",
        "_UNKNOWN_PARTITION",
        "_UNKNOWN_TOPIC",
    ]
)


def outcome_of(code: int) -> int:
    """ACKNOWLEDGED, REJECTED or UNKNOWN; a code nobody has mapped says nothing, so UNKNOWN."""
    return _outcomes().get(code, UNKNOWN)


def consumer_must_stop(code: int) -> bool:
    """Whether a consumer that met this error can never go on."""
    return code in _stops()


@cache
def _outcomes() -> dict[int, int]:
    return dict.fromkeys(_codes(ACKNOWLEDGED_CODES), ACKNOWLEDGED) | dict.fromkeys(_codes(REJECTED_CODES), REJECTED)


@cache
def _stops() -> frozenset[int]:
    return _codes(CONSUMER_STOPS)


def _codes(names: frozenset[str]) -> frozenset[int]:
    from confluent_kafka import KafkaError

    return frozenset(getattr(KafkaError, name) for name in names if hasattr(KafkaError, name))
