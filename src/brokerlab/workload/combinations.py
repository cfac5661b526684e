"""The workload once for every cell it asks for: combinations of swept values (`sweep`), or named overlays (`cells`)."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from brokerlab.errors import Problem
from brokerlab.workload.tree import SETTINGS, Path, Tree, parse_path

BROKERS = ("broker", "brokers")
OF_THE_RUN = ("name", "question", "sweep", "cells", "repeats", "retries", "objectives", "smallest_difference", "seed",
              "ceilings")  # fmt: skip
CELLS_MOST = 500
NO_LIST = "must be a list of values under the path of a field, such as producers.rate: [10_000/s, 20_000/s]"
NO_OVERLAY = "must be the values of a named cell, such as near: {producers.rate: 20_000/s}"
_NUMBER_OF_A_CELL = re.compile(r"c\d+")


@dataclass(frozen=True)
class Combination:
    """What one cell asks, before brokers are told apart: the tree with its values in place, and how they were written.
    `name` is that of a cell under `cells`."""

    tree: Tree
    parameters: dict[Path, str]
    name: str | None = None


def combinations(tree: Tree) -> tuple[list[Combination], list[Problem]]:
    """One for every combination of the values under `sweep`, the last swept field changing fastest; or one for every
    name under `cells`, in their order; or the tree as it is."""
    swept, named = tree.root.get("sweep"), tree.root.get("cells")
    if isinstance(named, dict) and named:
        problems: list[Problem] = []
        if swept:
            said = "cannot be given together with cells: sweep values, or name each cell under cells"
            problems.append(tree.problem(("sweep",), said))
        return _overlaid(tree, named, problems), problems
    if not isinstance(swept, dict) or not swept:
        return [Combination(tree, {})], []
    return _swept(tree, swept)


def cells_with_brokers(tree: Tree) -> list[str]:
    """The names of cells that choose their own brokers."""
    cells = tree.root.get("cells")
    named = cells.items() if isinstance(cells, dict) else ()
    return [name for name, overlay in named if isinstance(overlay, dict) and overlay.keys() & {*BROKERS}]


def concerns(combination: Combination, broker: str) -> dict[Path, str]:
    """The values of the cell that matter to one broker: settings of another do not."""
    return {
        path: text
        for path, text in combination.parameters.items()
        if path[0] not in (*SETTINGS, *BROKERS) or (path[0] in SETTINGS and (len(path) < 2 or path[1] == broker))
    }


def _swept(tree: Tree, swept: dict[str, object]) -> tuple[list[Combination], list[Problem]]:
    problems: list[Problem] = []
    dimensions: list[list[tuple[Path, Path]]] = []
    for text, values in swept.items():
        at: Path = ("sweep", text)
        if not isinstance(values, list):
            problems.append(tree.problem(at, NO_LIST, with_value=True))
        elif not values:
            problems.append(tree.problem(at, "has no values"))
        elif (path := _path(tree, at, problems)) is not None:
            dimensions.append([((*at, i), path) for i in range(len(values))])
    count = 1
    for dimension in dimensions:
        count *= len(dimension)
    if count > CELLS_MOST:
        problems.append(tree.problem(("sweep",), f"makes {count:,} combinations; at most {CELLS_MOST} are run"))
        dimensions = [dimension[:1] for dimension in dimensions]
    return [_combined(tree, choice, problems) for choice in itertools.product(*dimensions)], problems


def _overlaid(tree: Tree, named: dict[str, object], problems: list[Problem]) -> list[Combination]:
    if len(named) > CELLS_MOST:
        problems.append(tree.problem(("cells",), f"has {len(named):,} cells; at most {CELLS_MOST} are run"))
    made = []
    for name, overlay in list(named.items())[:CELLS_MOST]:
        if _NUMBER_OF_A_CELL.fullmatch(name):
            said = "is how cells without a name are numbered: choose a name that says what the cell is"
            problems.append(tree.problem(("cells", name), said))
        choice = []
        for text in overlay if isinstance(overlay, dict) else ():
            at: Path = ("cells", name, text)
            path = _path(tree, at, problems)
            if path is not None:
                choice.append((at, path))
        made.append(_combined(tree, tuple(choice), problems, name))
    return made


def _path(tree: Tree, at: Path, problems: list[Problem]) -> Path | None:
    """The field that the last key of `at` names; None, with a problem, where it may not be chosen for one cell."""
    try:
        path = parse_path(str(at[-1]))
    except ValueError as error:
        problems.append(tree.problem(at, str(error)))
        return None
    sweeps = at[0] == "sweep"
    if path[0] in OF_THE_RUN:
        cannot = "cannot be swept" if sweeps else "cannot be set for one cell"
        problems.append(tree.problem(at, f"{path[0]} {cannot}: it is the same for the whole run"))
    elif path[0] in BROKERS and sweeps:
        problems.append(tree.problem(at, f"{path[0]} cannot be swept: list them under brokers"))
    else:
        return path
    return None


def _combined(
    tree: Tree, choice: tuple[tuple[Path, Path], ...], problems: list[Problem], name: str | None = None
) -> Combination:
    """The tree with the values that stand at the first path of each pair put to the second."""
    made = tree.copied()
    parameters: dict[Path, str] = {}
    if any(path[0] in BROKERS for _, path in choice):  # a cell's broker takes the place of the workload's
        for field in BROKERS:
            made.remove((field,))
    for at, path in choice:
        origin = tree.origin(at)
        try:
            made.put(path, _value(tree, at), origin)
        except ValueError as error:
            problems.append(tree.problem(at if at[0] == "cells" else at[:2], str(error)))
        parameters[path] = origin.text
    return Combination(made, parameters, name)


def _value(tree: Tree, at: Path) -> object:
    value = tree.get(at[:-1])
    return value[at[-1]]
