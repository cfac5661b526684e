"""The reasons of a verdict as people read them: one line for each kind and cell, with a count and the worst case."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from brokerlab.results.verdict import CellVerdict, Reason, Verdict

# exception: a reason that would decide, in a cell that is valid without that execution. set aside: it does not count.
Kind = Literal["invalid", "cannot tell", "exception", "set aside", "note"]
KINDS: tuple[Kind, ...] = ("invalid", "cannot tell", "exception", "set aside", "note")


@dataclass(frozen=True)
class Line:
    """`where` names cells and repeats; empty where the line concerns the run. `worst` stands for `count` reasons."""

    kind: Kind
    where: str
    worst: Reason
    count: int

    @property
    def text(self) -> str:
        return self.worst.text if self.count == 1 else f"{self.worst.text} ({self.count} times; the worst is shown)"


def reason_lines(verdict: Verdict) -> list[Line]:
    """All reasons but planned faults, which have lines of their own; what decides comes first."""
    cells = {c.cell: c for c in verdict.cells}
    groups: dict[tuple[Kind, str, str], list[Reason]] = {}
    for reason in verdict.reasons:
        if reason.code != "planned_fault":
            kind = _kind(reason, cells)
            groups.setdefault((kind, reason.code, "" if kind == "note" else reason.cell), []).append(reason)
    lines = [Line(kind, _where(group, cells), _worst(group), len(group)) for (kind, _, _), group in groups.items()]
    return sorted(lines, key=lambda line: KINDS.index(line.kind))


def _kind(reason: Reason, cells: dict[str, CellVerdict]) -> Kind:
    cell = cells.get(reason.cell)
    if reason.weight == "note" or cell is None:
        return reason.weight
    if any(s.repeat == reason.repeat for s in cell.set_aside):
        return "set aside"
    doubted = [a for a in reason.affects if getattr(cell, a) != "valid"]
    return reason.weight if doubted else "exception"


def _worst(reasons: list[Reason]) -> Reason:
    """The one farthest beyond its limit; the first where there are no numbers."""
    return max(reasons, key=_distance)


def _distance(reason: Reason) -> float:
    if reason.value is None:
        return 0.0
    if not reason.limit:
        return abs(reason.value)
    ratio = reason.value / reason.limit
    return max(ratio, 1 / ratio) if ratio > 0 else float("inf")


def _where(reasons: Iterable[Reason], cells: dict[str, CellVerdict]) -> str:
    """Which cells, and of a single one which repeats."""
    of = list(reasons)
    names = list(dict.fromkeys(r.cell for r in of if r.cell))
    labels = [cells[name].label if name in cells else name for name in names]
    if len(labels) > 1:
        return f"{len(labels)} cells" if len(labels) > 3 else ", ".join(labels)
    repeats = sorted({r.repeat for r in of if r.repeat is not None})
    numbers = f"repeat{'s' if len(repeats) > 1 else ''} {', '.join(map(str, repeats))}" if 0 < len(repeats) <= 6 else ""
    many = f"{len(repeats)} repeats" if len(repeats) > 6 else numbers
    return ", ".join(filter(None, (*labels, many)))
