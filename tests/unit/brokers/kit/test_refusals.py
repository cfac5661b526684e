"""A library's errors, in words for people."""

from __future__ import annotations

from dataclasses import replace

import pytest

from brokerlab.brokers.kit.refusals import Refusals, words_of
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

REFUSALS = Refusals(
    "The lab", (KeyError, ValueError), "see its log", {"password": "give another one", "word": "say it"}
)
ENDPOINT = Endpoint(addresses=("a:1", "b:2"))


def test_errors_of_the_named_kinds_become_the_brokers_and_what_was_begun_is_closed() -> None:
    closed: list[str] = []
    with (
        pytest.raises(BrokerError, match=r"^The lab at a:1, b:2: no, really") as told,
        REFUSALS.at(ENDPOINT, close=lambda: closed.append("client")),
    ):
        raise ValueError("no,\n  really")
    assert isinstance(told.value.__cause__, ValueError)
    assert told.value.hint == "see its log"
    assert closed == ["client"]


def test_any_other_error_stays_what_it_is_and_nothing_is_closed() -> None:
    closed: list[str] = []
    with pytest.raises(TypeError), REFUSALS.at(ENDPOINT, close=lambda: closed.append("client")):
        raise TypeError
    with REFUSALS.at(ENDPOINT):
        pass
    assert closed == []


def test_what_is_said_decides_what_to_do_and_the_first_hint_counts() -> None:
    assert REFUSALS.explained("no password", "a:1").hint == "give another one"
    assert REFUSALS.explained("no word", "a:1").hint == "say it"


def test_the_kind_is_told_where_the_words_alone_would_say_too_little() -> None:
    assert REFUSALS.explained(KeyError(7), "a:1").message == "The lab at a:1: 7"
    assert replace(REFUSALS, tell_kind=True).explained(KeyError(7), "a:1").message == "The lab at a:1: KeyError: 7"


def test_words_are_one_line_of_bounded_length_and_never_empty() -> None:
    assert words_of(ValueError("a\n b\t c")) == "a b c"
    assert words_of(ValueError("x" * 1000)) == "x" * 300
    assert words_of(ValueError()) == "ValueError"
