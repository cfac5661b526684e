"""What PostgreSQL's errors mean for a block."""

from __future__ import annotations

import psycopg.errors
import pytest

from brokerlab.brokers.postgresql.outcomes import CLASSES, STATES, outcome_of
from brokerlab.model.blocks import REJECTED, UNKNOWN


def library_states() -> set[str]:
    found = {
        kind.sqlstate
        for kind in vars(psycopg.errors).values()
        if isinstance(kind, type) and issubclass(kind, psycopg.Error) and kind.sqlstate
    }
    assert len(found) > 200, "the library no longer names its states this way"
    return found


def test_every_class_of_states_the_library_knows_is_in_the_table_and_no_other() -> None:
    assert {state[:2] for state in library_states()} == CLASSES.names


def test_every_state_with_a_meaning_of_its_own_exists() -> None:
    assert set(STATES) <= library_states()


@pytest.mark.parametrize(
    ("sqlstate", "severity", "outcome"),
    [
        ("23505", "ERROR", REJECTED),
        ("42P01", "ERROR", REJECTED),
        ("25006", "ERROR", REJECTED),  # the server became a standby
        ("53100", "ERROR", REJECTED),
        ("57014", "ERROR", REJECTED),
        ("57P01", "FATAL", UNKNOWN),
        ("57P01", "ERROR", UNKNOWN),
        ("53100", "PANIC", UNKNOWN),
        ("40001", "ERROR", REJECTED),
        ("40003", "ERROR", UNKNOWN),
        ("08006", "ERROR", UNKNOWN),
        ("XX001", "ERROR", UNKNOWN),
        ("ZZ999", "ERROR", UNKNOWN),
        ("?????", "", UNKNOWN),
    ],
)
def test_only_an_error_that_surely_rolled_back_is_a_rejection(sqlstate: str, severity: str, outcome: int) -> None:
    assert outcome_of(sqlstate, severity) == outcome
