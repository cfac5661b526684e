"""What an answer of the server, or an error of redis-py, means for a message: the one place."""

from __future__ import annotations

from enum import Enum

from brokerlab.model.blocks import REJECTED, UNKNOWN


class Meaning(Enum):
    """For a message that was handed to the server."""

    REJECTED = "surely not stored"
    UNKNOWN = "stored or not, nobody can say"
    NOT_ABOUT_PUBLISHING = "comes from commands that publish nothing"


# The first word of an error reply to XADD. The server checks all of these before it executes the command, so nothing
# was stored. A word that is not here is unknown.
REPLIES: dict[str, Meaning] = {
    "ERR": Meaning.REJECTED,  # wrong arguments, max number of clients, a string longer than allowed
    "WRONGTYPE": Meaning.REJECTED,
    "OOM": Meaning.REJECTED,
    "READONLY": Meaning.REJECTED,  # we wrote to a replica
    "NOREPLICAS": Meaning.REJECTED,  # min-replicas-to-write
    "MISCONF": Meaning.REJECTED,  # the disk has failed before; writes are refused
    "LOADING": Meaning.REJECTED,
    "MASTERDOWN": Meaning.REJECTED,
    "CLUSTERDOWN": Meaning.REJECTED,
    "CROSSSLOT": Meaning.REJECTED,
    "MOVED": Meaning.REJECTED,  # not executed; the driver learns the new place but sends nothing twice
    "ASK": Meaning.REJECTED,
    "TRYAGAIN": Meaning.REJECTED,
    "BUSY": Meaning.REJECTED,
    "NOAUTH": Meaning.REJECTED,
    "NOPERM": Meaning.REJECTED,
    "WRONGPASS": Meaning.REJECTED,
    "EXECABORT": Meaning.REJECTED,
    "NOSCRIPT": Meaning.NOT_ABOUT_PUBLISHING,
    "NOGROUP": Meaning.NOT_ABOUT_PUBLISHING,
    "BUSYGROUP": Meaning.NOT_ABOUT_PUBLISHING,
    "UNBLOCKED": Meaning.UNKNOWN,  # a WAIT ended because the node is no longer what it was
}

_ELSEWHERE = [  # of redis-py, which only the administration uses
    "AuthenticationWrongNumberOfArgsError",
    "ChildDeadlockedError",
    "ClusterError",
    "CrossSlotTransactionError",
    "DataError",
    "ExternalAuthProviderError",
    "IncorrectPolicyType",
    "InvalidPipelineStack",
    "LockError",
    "LockNotOwnedError",
    "MaxConnectionsError",
    "ModuleError",
    "NoScriptError",
    "NoSuchFieldsetError",
    "PubSubError",
    "RedisClusterException",
    "WatchError",
]
LIBRARY_ERRORS: dict[str, Meaning] = {
    "RedisError": Meaning.UNKNOWN,
    "ConnectionError": Meaning.UNKNOWN,
    "TimeoutError": Meaning.UNKNOWN,
    "InvalidResponse": Meaning.UNKNOWN,
    "ResponseError": Meaning.REJECTED,
    "AskError": Meaning.REJECTED,
    "AuthenticationError": Meaning.REJECTED,
    "AuthorizationError": Meaning.REJECTED,
    "BusyLoadingError": Meaning.REJECTED,
    "ClusterCrossSlotError": Meaning.REJECTED,
    "ClusterDownError": Meaning.REJECTED,
    "ExecAbortError": Meaning.REJECTED,
    "MasterDownError": Meaning.REJECTED,
    "MovedError": Meaning.REJECTED,
    "NoPermissionError": Meaning.REJECTED,
    "OutOfMemoryError": Meaning.REJECTED,
    "ReadOnlyError": Meaning.REJECTED,
    "SlotNotCoveredError": Meaning.REJECTED,
    "TryAgainError": Meaning.REJECTED,
} | dict.fromkeys(_ELSEWHERE, Meaning.NOT_ABOUT_PUBLISHING)


def first_word(error: BaseException) -> str:
    return str(error).partition(" ")[0]


def outcome_of_error(error: BaseException) -> tuple[int, str]:
    """Outcome and error kind of an error reply to XADD."""
    word = first_word(error)
    refused = REPLIES.get(word) is Meaning.REJECTED
    return (REJECTED if refused else UNKNOWN), word


def confirmed(reply: object, replicas: int) -> tuple[bool, str]:
    """Whether the answer to a WAIT (an integer) or WAITAOF (local, replicas) confirms what was written before it."""
    if isinstance(reply, BaseException):
        return False, f"WAIT: {first_word(reply)}"
    if isinstance(reply, list):
        local, count = int(reply[0]), int(reply[1])
        return local >= 1 and count >= replicas, f"WAITAOF: {local} local, {count} of {replicas} replicas"
    if isinstance(reply, int):
        return reply >= replicas, f"WAIT: {reply} of {replicas} replicas"
    return False, "WAIT: unreadable answer"
