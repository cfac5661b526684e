"""What a cell's settings may be, declared: names, and what their values must be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping

from brokerlab.brokers.contract import CellProblem
from brokerlab.model.plan import CellPlan

MOST_LISTED = 30  # names; a longer list is not read
Check = Callable[[str], str | None]  # of a value: None, or what it must be
Known = Mapping[str, Check]  # settings by name


def setting_problems(cell: CellPlan, broker_settings: Known, client_settings: Known) -> list[CellProblem]:
    """One for each name that is not known, with the nearest that is, and one for each value that cannot be."""
    found: list[CellProblem] = []
    for field, known in (("broker_settings", broker_settings), ("client_settings", client_settings)):
        given: Mapping[str, str] = getattr(cell, field)
        found += unknown_names(field, given, known)
        wrong = {name: known[name](value) for name, value in given.items() if name in known}
        found += [CellProblem((field, name), said, given[name]) for name, said in wrong.items() if said is not None]
    return found


def not_with_an_endpoint(cell: CellPlan, names: Iterable[str]) -> list[CellProblem]:
    """One for each of these broker settings that is given, where the servers are not started here."""
    said = "is of a server that is started here; leave it out with --endpoint"
    given = {name: cell.broker_settings[name] for name in names if cell.endpoint and name in cell.broker_settings}
    return [CellProblem(("broker_settings", name), said, value) for name, value in given.items()]


def unknown_names(field: str, given: Iterable[str], known: Collection[str]) -> list[CellProblem]:
    """For each name that is not known, the nearest that is. `field` is broker_settings or client_settings."""
    return [_unknown(field, name, known) for name in given if name not in known]


def _unknown(field: str, name: str, known: Collection[str]) -> CellProblem:
    near = difflib.get_close_matches(name, known, n=1)
    listed = f"; known: {', '.join(known) or 'none'}" if not near and len(known) <= MOST_LISTED else ""
    return CellProblem((field, name), f"no such setting{listed}", nearest=near[0] if near else None)


def one_of(*choices: str) -> Check:
    return lambda value: None if value in choices else f"must be one of {', '.join(choices)}"


def whole_number(most: int | None = None, unit: str = "") -> Check:
    """Above 0."""
    said = f"must be a whole number{unit} above 0" + ("" if most is None else f" and at most {most}")
    return lambda value: None if is_above_zero(value) and (most is None or int(value) <= most) else said


def is_above_zero(text: str) -> bool:
    return text.isdecimal() and int(text) > 0


def looks_like(pattern: str, words: str) -> Check:
    """`words` say what it must be."""
    compiled = re.compile(pattern)
    return lambda value: None if compiled.fullmatch(value) else f"must be {words}"


def filled(defaults: Mapping[str, str]) -> Callable[[Mapping[str, str]], dict[str, str]]:
    """What holds where something is given: a function of that."""
    return lambda given: {**defaults, **given}


def filled_numbers(defaults: Mapping[str, str]) -> Callable[[Mapping[str, str]], dict[str, int]]:
    """The same, of whole numbers alone."""
    return lambda given: {name: int(value) for name, value in {**defaults, **given}.items()}


ANYTHING: Check = lambda value: None  # noqa: E731, ARG005 - the broker itself judges it
TRUE_OR_FALSE = looks_like("true|false", "true or false")
