"""Problems of settings that are the same for every broker."""

from __future__ import annotations

import pytest

from brokerlab.brokers.contract import CellProblem
from brokerlab.brokers.kit.setting_checks import not_above_zero, not_offered, unknown_names


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (("replicas", "storage"), "; did you mean 'replicas'?"),
        (("storage", "fsync"), "; known: storage, fsync"),
        ((), "; known: none"),
        ([f"{n} {n}" for n in range(1000)], ""),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_else_with_a_list_that_is_not_too_long(
    known: list[str], said: str
) -> None:
    (problem,) = unknown_names("broker_settings", {"replica": "3"}, known)
    assert problem.field == ("broker_settings", "replica")
    assert str(problem) == f"broker_settings.replica: no such setting{said}"


def test_known_names_are_no_problem() -> None:
    assert unknown_names("broker_settings", ["a", "b"], {"a", "b"}) == []


def test_only_values_that_are_given_are_judged() -> None:
    choices = {"storage": ("file", "memory"), "fsync": ("yes", "no")}
    expected = CellProblem(("broker_settings", "fsync"), "must be one of yes, no", value="maybe")
    assert not_offered("broker_settings", {"fsync": "maybe"}, choices) == [expected]


@pytest.mark.parametrize(("value", "good"), [("1", True), ("0", False), ("-1", False), ("1.5", False), ("", False)])
def test_a_number_must_be_whole_and_above_zero(value: str, good: bool) -> None:
    found = not_above_zero("client_settings", {"credit": value}, ("credit", "prefetch"))
    expected = CellProblem(("client_settings", "credit"), "must be a whole number above 0", value)
    assert found == ([] if good else [expected])
