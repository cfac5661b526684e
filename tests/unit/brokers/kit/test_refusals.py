"""A library's errors, in words for people."""

from __future__ import annotations

import pytest

from brokerlab.brokers.kit.refusals import explained_by, words_of
from brokerlab.errors import BrokerError


def explain(error: Exception) -> BrokerError:
    return BrokerError(f"the server said {words_of(error)}")


def test_errors_of_the_named_kinds_become_the_brokers_and_what_was_begun_is_closed() -> None:
    closed: list[str] = []
    with (
        pytest.raises(BrokerError, match="the server said no, really") as told,
        explained_by(explain, KeyError, ValueError, close=lambda: closed.append("client")),
    ):
        raise ValueError("no,\n  really")
    assert isinstance(told.value.__cause__, ValueError)
    assert closed == ["client"]


def test_any_other_error_stays_what_it_is_and_nothing_is_closed() -> None:
    closed: list[str] = []
    with pytest.raises(TypeError), explained_by(explain, ValueError, close=lambda: closed.append("client")):
        raise TypeError
    with explained_by(explain, ValueError):
        pass
    assert closed == []


def test_words_are_one_line_of_bounded_length_and_never_empty() -> None:
    assert words_of(ValueError("a\n b\t c")) == "a b c"
    assert words_of(ValueError("x" * 1000)) == "x" * 300
    assert words_of(ValueError()) == "ValueError"
