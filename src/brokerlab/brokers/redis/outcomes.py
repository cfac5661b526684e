"""What an answer of the server means for a message: the one place."""

from __future__ import annotations

from brokerlab.brokers.kit.outcomes import OutcomeTable

# The first word of an error reply to XADD. The server checks what is rejected here before it executes the command, so
# nothing was stored: also ERR (wrong arguments, too many clients), READONLY (we wrote to a replica), MISCONF (the disk
# has failed before; writes are refused), and MOVED and ASK: the driver learns the new place but sends nothing twice.
REPLIES = OutcomeTable(
    rejected="""
        ERR WRONGTYPE OOM READONLY NOREPLICAS MISCONF LOADING MASTERDOWN CLUSTERDOWN CROSSSLOT MOVED ASK TRYAGAIN BUSY
        NOAUTH NOPERM WRONGPASS EXECABORT""",
    unknown="UNBLOCKED",  # a WAIT ended because the node is no longer what it was
    elsewhere="NOSCRIPT NOGROUP BUSYGROUP",
)


def first_word(error: BaseException) -> str:
    return str(error).partition(" ")[0]


def outcome_of_error(error: BaseException) -> tuple[int, str]:
    """Outcome and error kind of an error reply to XADD."""
    word = first_word(error)
    return REPLIES.of(word), word


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
