"""What brokers check alike in a cell's settings. Each function gives one line for each problem; none is good."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping

from brokerlab.model.plan import CellPlan, Durability

MOST_LISTED = 30  # names; a longer list helps nobody


def unknown_names(field: str, given: Iterable[str], known: Collection[str]) -> list[str]:
    """For each name that is not known, the nearest that is. `field` is broker_settings or client_settings."""
    return [f"{field}.{name}: no such setting{_instead(name, known)}" for name in given if name not in known]


def _instead(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(known) or 'none'}" if len(known) <= MOST_LISTED else ""


def not_offered(field: str, given: Mapping[str, str], choices: Mapping[str, Collection[str]]) -> list[str]:
    """For settings that have a few possible values."""
    return [
        f"{field}.{name}: must be one of {', '.join(offered)} (got {given[name]!r})"
        for name, offered in choices.items()
        if name in given and given[name] not in offered
    ]


def not_true_or_false(field: str, given: Mapping[str, str], names: Iterable[str]) -> list[str]:
    return [
        f"{field}.{name}: must be true or false (got {given[name]!r})"
        for name in names
        if given.get(name, "true") not in ("true", "false")
    ]


def not_above_zero(field: str, given: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """For settings that are whole numbers above 0."""
    return [
        f"{field}.{name}: must be a whole number above 0 (got {given[name]!r})"
        for name in names
        if name in given and not is_above_zero(given[name])
    ]


def is_above_zero(text: str) -> bool:
    return text.isdecimal() and int(text) > 0


def other_durability(cell: CellPlan, level: Durability, because: str) -> list[str]:
    """Settings (`because`: their names and values) that lead to another level than was asked for."""
    return [] if level == cell.durability else [f"durability: {because} give {level}, not {cell.durability}"]
