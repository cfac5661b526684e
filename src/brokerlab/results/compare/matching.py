"""Which cell of one side answers the same question as which cell of the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from brokerlab.errors import UserError
from brokerlab.model.plan import CellPlan
from brokerlab.results.compare.sides import Side, Subject

_KEYS: tuple[Callable[[CellPlan], Hashable], ...] = (
    lambda p: (p.broker, p.nodes, p.durability, _parameters(p), p.label),
    lambda p: (p.broker, p.nodes, p.durability, _parameters(p)),
    lambda p: (p.broker, _parameters(p)),
    lambda p: (p.broker, p.label),
)


@dataclass(frozen=True)
class Match:
    base: Subject
    candidate: Subject


@dataclass(frozen=True)
class Matched:
    """`alone` are the labels of cells that only one side has."""

    matches: tuple[Match, ...]
    alone_in_base: tuple[str, ...]
    alone_in_candidate: tuple[str, ...]


def matched(base: Side, candidate: Side) -> Matched:
    """By what the cells ask: the whole of it first, then less and less of it, always only where one cell on each side fits.
    Two single cells are compared whatever they ask. Raises UserError where nothing matches."""
    if len(base.subjects) == len(candidate.subjects) == 1:
        return Matched((Match(base.subjects[0], candidate.subjects[0]),), (), ())
    left, right, found = list(base.subjects), list(candidate.subjects), {}
    for key in _KEYS:
        ours, theirs = _unique(left, key), _unique(right, key)
        for k in ours.keys() & theirs.keys():
            found[id(ours[k])] = Match(ours[k], theirs[k])
            left.remove(ours[k])
            right.remove(theirs[k])
    if not found:
        raise UserError(
            f"{base.name} and {candidate.name} have no cell in common: {_labels(base.subjects)} and "
            f"{_labels(candidate.subjects)}",
            hint=f"choose a cell of each: {base.name}:CELL {candidate.name}:CELL",
        )
    in_order = tuple(found[id(s)] for s in base.subjects if id(s) in found)
    if base.one_cell or candidate.one_cell:  # the others were not asked for
        return Matched(in_order, (), ())
    return Matched(in_order, tuple(s.label for s in left), tuple(s.label for s in right))


def _unique(subjects: list[Subject], key: Callable[[CellPlan], Hashable]) -> dict[Hashable, Subject]:
    found: dict[Hashable, list[Subject]] = {}
    for subject in subjects:
        found.setdefault(key(subject.members[0].plan), []).append(subject)
    return {k: of[0] for k, of in found.items() if len(of) == 1}


def _parameters(plan: CellPlan) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(plan.parameters.items()))


def _labels(subjects: tuple[Subject, ...]) -> str:
    shown = ", ".join(s.label for s in subjects[:6])
    return shown + (f" and {len(subjects) - 6} more" if len(subjects) > 6 else "")
