"""What is compared with what: a run, the runs of a tag, or one cell of them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from brokerlab.errors import NotFoundError, UserError
from brokerlab.results.compare.measured import Found, MeasuredCell, MeasuredRun, Source


@dataclass(frozen=True)
class Subject:
    """What was asked, and the cells that measured it: one, or one of each run of a tag."""

    members: tuple[MeasuredCell, ...]

    @property
    def label(self) -> str:
        return self.members[0].plan.label or self.members[0].plan.cell


@dataclass(frozen=True)
class Side:
    """`name` as it was given."""

    name: str
    runs: tuple[MeasuredRun, ...]
    subjects: tuple[Subject, ...]
    one_cell: bool  # the name chose it
    left_out: tuple[str, ...] = ()


def side(source: Source, given: str) -> Side:
    """The side that RUN, TAG, RUN:CELL or TAG:CELL stands for. Raises NotFoundError with the nearest name."""
    found = source.find(given)
    if found is not None:
        return Side(given, found.runs, _subjects(found), one_cell=False, left_out=found.left_out)
    name, colon, cell = given.rpartition(":")
    found = source.find(name) if colon else None
    if found is None:
        raise _not_found(source, name if colon else given)
    chosen = [s for s in _subjects(found) if cell in (s.members[0].plan.cell, s.members[0].plan.label)]
    if len(chosen) == 1:
        return Side(given, found.runs, tuple(chosen), one_cell=True, left_out=found.left_out)
    raise _no_cell(name, cell, found)


def different(sides: list[Side]) -> None:
    """Raises UserError where one thing was given twice: its figures would equal themselves."""
    seen: dict[frozenset[tuple[str, str]], str] = {}
    for one in sides:
        cells = frozenset((m.run, m.plan.cell) for s in one.subjects for m in s.members)
        if cells in seen:
            raise UserError(
                f"{seen[cells]} and {one.name} are the same cells",
                hint="give two runs, two tags, or two cells of one run as RUN:CELL",
            )
        seen[cells] = one.name


def _subjects(found: Found) -> tuple[Subject, ...]:
    """Cells of several runs that ask the same are one subject; those of one run never are."""
    if len(found.runs) == 1:
        return tuple(Subject((c,)) for c in found.runs[0].cells)
    of: dict[object, list[MeasuredCell]] = {}
    for run in found.runs:
        for cell in run.cells:
            p = cell.plan
            asked = (p.broker, p.nodes, p.durability, p.label, tuple(sorted(p.parameters.items())))
            of.setdefault(asked, []).append(cell)
    return tuple(Subject(tuple(cells)) for cells in of.values())


def _not_found(source: Source, name: str) -> NotFoundError:
    near = source.nearest(name)
    hint = f"did you mean {near!r}?" if near else "brokerlab list runs shows them all"
    return NotFoundError(f"no run and no tag is called {name!r}", hint=hint)


def _no_cell(name: str, cell: str, found: Found) -> NotFoundError:
    known = {k: c.plan.cell for run in found.runs for c in run.cells for k in (c.plan.cell, c.plan.label)}
    near = difflib.get_close_matches(cell, list(known), n=1, cutoff=0.5)
    cells = ", ".join(dict.fromkeys(f"{c.plan.cell} ({c.plan.label})" for run in found.runs for c in run.cells))
    hint = f"its cells: {cells}" + (f"; did you mean {near[0]!r}?" if near else "")
    return NotFoundError(f"{name} has no single cell called {cell!r}", hint=hint)
