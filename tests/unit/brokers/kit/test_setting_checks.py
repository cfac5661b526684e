"""Settings that are declared, and the problems of those that are given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from brokerlab.brokers.contract import CellProblem
from brokerlab.brokers.kit.setting_checks import (
    TRUE_OR_FALSE,
    Check,
    filled,
    filled_numbers,
    looks_like,
    one_of,
    setting_problems,
    unknown_names,
    whole_number,
)


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


def test_every_mistake_is_told_with_its_field_and_value() -> None:
    cell: Any = SimpleNamespace(broker_settings={"fsync": "maybe", "storage": "file"}, client_settings={"credits": "1"})
    servers = {"fsync": one_of("yes", "no"), "storage": one_of("file")}
    assert setting_problems(cell, servers, {"credit": whole_number()}) == [
        CellProblem(("broker_settings", "fsync"), "must be one of yes, no", "maybe"),
        CellProblem(("client_settings", "credits"), "no such setting", nearest="credit"),
    ]


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (whole_number(), ("1", "70000"), ("0", "-1", "1.5", "")),
        (whole_number(10), ("10",), ("11",)),
        (one_of("a", "b"), ("a",), ("c", "A", "")),
        (TRUE_OR_FALSE, ("true", "false"), ("True", "yes")),
        (looks_like(r"\d+(s|min)", "a duration"), ("3s", "5min"), ("3", "s", "3s more")),
    ],
)
def test_a_value_is_judged_by_its_check(check: Check, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    assert [check(value) for value in good] == [None] * len(good)
    assert all((check(value) or "").startswith("must be ") for value in bad)


def test_what_is_given_takes_the_place_of_defaults() -> None:
    defaults = {"a": "1", "b": "2"}
    assert filled(defaults)({"b": "7"}) == {"a": "1", "b": "7"}
    assert filled_numbers(defaults)({"b": "7"}) == {"a": 1, "b": 7}
    assert filled(defaults)({}) == defaults
