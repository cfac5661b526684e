"""What brokers check alike in a cell's settings. Each function gives one problem for each mistake; none is good."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping

from brokerlab.brokers.contract import CellProblem

MOST_LISTED = 30  # names; nobody reads a longer list


def unknown_names(field: str, given: Iterable[str], known: Collection[str]) -> list[CellProblem]:
    """For each name that is not known, the nearest that is. `field` is broker_settings or client_settings."""
    return [_unknown(field, name, known) for name in given if name not in known]


def _unknown(field: str, name: str, known: Collection[str]) -> CellProblem:
    near = difflib.get_close_matches(name, known, n=1)
    listed = f"; known: {', '.join(known) or 'none'}" if not near and len(known) <= MOST_LISTED else ""
    return CellProblem((field, name), f"no such setting{listed}", nearest=near[0] if near else None)


def not_offered(field: str, given: Mapping[str, str], choices: Mapping[str, Collection[str]]) -> list[CellProblem]:
    """For settings that have a few possible values."""
    return [
        wrong_value(field, given, name, f"must be one of {', '.join(offered)}")
        for name, offered in choices.items()
        if name in given and given[name] not in offered
    ]


def not_true_or_false(field: str, given: Mapping[str, str], names: Iterable[str]) -> list[CellProblem]:
    return [
        wrong_value(field, given, name, "must be true or false")
        for name in names
        if given.get(name, "true") not in ("true", "false")
    ]


def not_above_zero(field: str, given: Mapping[str, str], names: Iterable[str]) -> list[CellProblem]:
    """For settings that are whole numbers above 0."""
    return [
        wrong_value(field, given, name, "must be a whole number above 0")
        for name in names
        if name in given and not is_above_zero(given[name])
    ]


def is_above_zero(text: str) -> bool:
    return text.isdecimal() and int(text) > 0


def wrong_value(field: str, given: Mapping[str, str], name: str, message: str) -> CellProblem:
    return CellProblem((field, name), message, given.get(name))
