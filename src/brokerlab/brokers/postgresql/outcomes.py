"""What PostgreSQL's SQLSTATEs mean for a block that was published. The one place where that is decided.

A block is one transaction. An ERROR before the commit means that the server has rolled it back: rejected. What ends
the session (FATAL, PANIC), what speaks about the machine or PostgreSQL itself, and a lost connection leave open
whether the commit was reached: unknown. A WARNING during the commit says that the wait for a standby was given up
although the commit stands on the primary: unknown too.
"""

from __future__ import annotations

from brokerlab.model.blocks import REJECTED, UNKNOWN

CLASSES: dict[str, int] = {
    "02": UNKNOWN,  # no data
    "03": REJECTED,  # statement not yet complete
    "08": UNKNOWN,  # connection exception
    "09": REJECTED,  # triggered action exception
    "0A": REJECTED,  # feature not supported
    "0B": REJECTED,  # invalid transaction initiation
    "0F": REJECTED,  # locator exception
    "0L": REJECTED,  # invalid grantor
    "0P": REJECTED,  # invalid role specification
    "0Z": REJECTED,  # diagnostics exception
    "10": REJECTED,  # XQuery error
    "20": REJECTED,  # case not found
    "21": REJECTED,  # cardinality violation
    "22": REJECTED,  # data exception
    "23": REJECTED,  # integrity constraint violation
    "24": REJECTED,  # invalid cursor state
    "25": REJECTED,  # invalid transaction state: also a read-only server
    "26": REJECTED,  # invalid SQL statement name
    "27": REJECTED,  # triggered data change violation
    "28": REJECTED,  # invalid authorization specification
    "2B": REJECTED,  # dependent privilege descriptors still exist
    "2D": REJECTED,  # invalid transaction termination
    "2F": REJECTED,  # SQL routine exception
    "34": REJECTED,  # invalid cursor name
    "38": REJECTED,  # external routine exception
    "39": REJECTED,  # external routine invocation exception
    "3B": REJECTED,  # savepoint exception
    "3D": REJECTED,  # invalid catalog name
    "3F": REJECTED,  # invalid schema name
    "40": REJECTED,  # transaction rollback: serialization failure, deadlock
    "42": REJECTED,  # syntax error or access rule violation: also a table that is gone
    "44": REJECTED,  # WITH CHECK OPTION violation
    "53": REJECTED,  # insufficient resources: also a full disk
    "54": REJECTED,  # program limit exceeded
    "55": REJECTED,  # object not in prerequisite state
    "57": UNKNOWN,  # operator intervention: shutdown, crash
    "58": UNKNOWN,  # system error: input or output failed
    "72": REJECTED,  # snapshot failure (no longer raised)
    "F0": UNKNOWN,  # configuration file error
    "HV": REJECTED,  # foreign data wrapper error
    "P0": REJECTED,  # PL/pgSQL error: a trigger of the user's
    "XX": UNKNOWN,  # internal error, corrupted data
}
STATES: dict[str, int] = {
    "40003": UNKNOWN,  # statement completion unknown
    "57014": REJECTED,  # query canceled: an ERROR, so before the commit; during the wait for a standby it is a WARNING
}


def outcome_of(sqlstate: str, severity: str) -> int:
    """The outcome of a transaction that ended with this error; a state nobody mapped is unknown."""
    if severity != "ERROR":
        return UNKNOWN
    return STATES.get(sqlstate, CLASSES.get(sqlstate[:2], UNKNOWN))
