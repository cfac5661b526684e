"""One sentence for people: what was violated first, then what may be believed, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence

from brokerlab.results.verdict import CellVerdict, ObjectiveResult, Verdict

NAMED_CELLS = 4  # with more, valid cells are counted instead of named


def headline(
    cells: Sequence[CellVerdict], delivery: dict[str, int], objectives: Sequence[ObjectiveResult], *, violated: bool
) -> str:
    """Violated delivery, then valid cells, then the others with the reason each, then missed objectives."""
    parts = []
    if violated:
        wrong = ", ".join(f"{delivery[n]:,} {n}" for n in ("lost", "corrupted", "unexpected") if delivery.get(n))
        parts.append(f"delivery violated: {wrong} of {delivery['sent']:,} messages")
    parts += _cells(cells)
    if all(c.verdict == "valid" for c in cells):
        parts.append(_account(delivery, violated))
    missed = sum(o.met == "missed" for o in objectives)
    if missed:
        parts.append(f"{missed} objective{'s' if missed > 1 else ''} missed")
    sentence = "; ".join(parts) + "."
    return sentence[0].upper() + sentence[1:]


def without_the_word(verdict: Verdict) -> str:
    """The headline of a verdict for a place that says "valid" or "invalid" already. It begins with a capital, unless it begins
    with a name: the label of a cell, or a metric such as p99(...)."""
    text = verdict.headline.removeprefix(f"{verdict.verdict.capitalize()}: ")
    named = any(c.label and text.startswith(c.label) for c in verdict.cells)
    return text if named or not text.split(" ", 1)[0].isalpha() else text[:1].upper() + text[1:]


def _cells(cells: Sequence[CellVerdict]) -> list[str]:
    """The gravest answers first; a valid cell with the executions that count."""
    parts = []
    for answer in ("invalid", "cannot tell"):
        mine = [c for c in cells if c.verdict == answer]
        if len(mine) == len(cells) and len({c.because for c in mine}) == 1:
            return [f"{answer}: {_holds(mine[0])}{mine[0].because}"]
        if len(mine) > NAMED_CELLS:
            named = ", ".join(c.label for c in mine[:NAMED_CELLS])
            parts.append(f"{answer}: {len(mine)} of {len(cells)} cells ({named}, ...), the first: {mine[0].because}")
        else:
            parts += [f"{answer}: {_named(c, cells)}{_holds(c)}{c.because}" for c in mine]
    valid = [c for c in cells if c.verdict == "valid"]
    if valid:
        parts.append(f"valid: {_counted(valid, cells)}")
    return parts


def _named(cell: CellVerdict, cells: Sequence[CellVerdict]) -> str:
    return f"{cell.label}: " if len(cells) > 1 else ""


def _holds(cell: CellVerdict) -> str:
    """What holds in a cell that is not valid, and what does not; empty where nothing does."""
    holding = [a for a in cell.needs if getattr(cell, a) == "valid"]
    others = [a for a in cell.needs if a not in holding]
    holds, do = "holds" if holding == ["delivery"] else "hold", "does" if others == ["delivery"] else "do"
    return f"{' and '.join(holding)} {holds}, {' and '.join(others)} {do} not: " if holding else ""


def _counted(valid: Sequence[CellVerdict], cells: Sequence[CellVerdict]) -> str:
    if len(cells) > NAMED_CELLS:
        of = f"all {len(cells)} cells" if len(valid) == len(cells) else f"{len(valid)} of {len(cells)} cells"
        counted, aside = sum(c.repeats_counted for c in valid), sum(len(c.set_aside) for c in valid)
        return f"{of}, {counted} executions" + (f" ({aside} set aside)" if aside else "")
    return ", ".join(f"{_name_of(c, cells)}{_executions(c)}" for c in valid)


def _name_of(cell: CellVerdict, cells: Sequence[CellVerdict]) -> str:
    return f"{cell.label} " if len(cells) > 1 else ""


def _executions(cell: CellVerdict) -> str:
    n, planned = cell.repeats_counted, cell.repeats_planned
    text = f"{n} repeat{'s' if n != 1 else ''}" if n >= planned else f"{n} of {planned} repeats"
    return f"{text} ({len(cell.set_aside)} set aside)" if cell.set_aside else text


def _account(delivery: dict[str, int], violated: bool) -> str:
    sent = f"{delivery['sent']:,} messages sent"
    if violated:
        return sent
    strange = ", ".join(
        f"{delivery[n]:,} {n}" for n in ("duplicated", "reordered", "unknown", "rejected") if delivery.get(n)
    )
    arrived = "none lost" if "lost" in delivery else "no consumers"
    return f"{sent}, {arrived}" + (f", {strange}" if strange else "")
