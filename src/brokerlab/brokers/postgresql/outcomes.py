"""What PostgreSQL's SQLSTATEs mean for a block that was published. The one place where that is decided.

A block is one transaction. An ERROR before the commit means that the server has rolled it back: rejected. What ends
the session (FATAL, PANIC), what speaks about the machine or PostgreSQL itself, and a lost connection leave open
whether the commit was reached: unknown. A WARNING during the commit says that the wait for a standby was given up
although the commit stands on the primary: unknown too.
"""

from __future__ import annotations

from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.model.blocks import REJECTED, UNKNOWN

# Classes of SQLSTATE, the first two characters (PostgreSQL's documentation, appendix A).
CLASSES = OutcomeTable(
    # Among them 25: a read-only server; 40: serialization failure, deadlock; 42: a table that is gone; 53: a full disk;
    # P0: a trigger of the user's.
    rejected="""
        03 09 0A 0B 0F 0L 0P 0Z 10 20 21 22 23 24 25 26 27 28 2B 2D 2F 34 38 39 3B 3D 3F 40 42 44 53 54 55 72 HV P0""",
    # No data; the connection; shutdown and crash; input or output failed; configuration; internal error, corrupted data.
    unknown="02 08 57 58 F0 XX",
)
STATES: dict[str, int] = {
    "40003": UNKNOWN,  # statement completion unknown
    "57014": REJECTED,  # query canceled: an ERROR, so before the commit; during the wait for a standby it is a WARNING
}


def outcome_of(sqlstate: str, severity: str) -> int:
    """The outcome of a transaction that ended with this error; a state that is not listed is unknown."""
    if severity != "ERROR":
        return UNKNOWN
    return STATES.get(sqlstate, CLASSES.of(sqlstate[:2]))
