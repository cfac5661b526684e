"""In which order a run's executions happen, so that neither time nor neighbours favour a cell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from brokerlab.model.execution_id import ExecutionId

Integers = npt.NDArray[np.int64]


def interleaved(cells: Sequence[str], repeats: int) -> tuple[ExecutionId, ...]:
    """Every cell once per repeat; the first repeat is in the order of `cells`.

    The repeats are rows of a Williams design, a Latin square in which each cell also follows each other cell equally
    often; with an odd number of cells each row has its mirror image. A whole design takes as many repeats as there are
    cells, or twice as many where their number is odd. See `_next_row` for the order of its rows.
    """
    design = _williams(len(cells))
    balance = _Balance(len(cells))
    named = dict(zip(design[0].tolist(), cells, strict=True))
    unused: list[int] = []
    order: list[ExecutionId] = []
    for repeat in range(1, repeats + 1):
        unused = unused or list(range(len(design)))
        row = design[_next_row(design, unused, balance)]
        balance.add(row)
        order.extend(ExecutionId(cell=named[cell], repeat=repeat) for cell in row.tolist())
    return tuple(order)


def interleaved_in_groups(groups: Sequence[Sequence[str]], repeats: int) -> tuple[ExecutionId, ...]:
    """Every cell once per repeat, the cells of a group one after the other: they share a cluster, and a group that is
    left and entered again starts it again. The groups go forward in one repeat and backward in the next, so that the
    last cluster of a repeat is the first of the next and no group always runs early. Within a group as `interleaved`.
    """
    within = [iter(interleaved(group, repeats)) for group in groups]
    order: list[ExecutionId] = []
    for repeat in range(repeats):
        turns = list(zip(groups, within, strict=True))
        for group, executions in turns if repeat % 2 == 0 else reversed(turns):
            order.extend(islice(executions, len(group)))
    return tuple(order)


def one_group_by_one(groups: Sequence[Sequence[str]], repeats: int) -> tuple[ExecutionId, ...]:
    """All repeats of a group before the next group begins: a cluster is started once, and its servers are as warm in a
    repeat as those of the other groups were in theirs. Within a group as `interleaved`."""
    return tuple(execution for group in groups for execution in interleaved(group, repeats))


def _williams(count: int) -> Integers:
    """Rows of cell numbers: 0, 1, n-1, 2, n-2, ... and its rotations; their mirror images too if `count` is odd."""
    first = [(i + 1) // 2 if i % 2 else -(i // 2) for i in range(count)]
    square = (np.array(first) + np.arange(count)[:, None]) % count
    return square if count % 2 == 0 else np.vstack([square, square[:, ::-1]])


class _Balance:
    """What the repeats so far gave each cell."""

    def __init__(self, count: int) -> None:
        self._at = np.zeros((count, count), np.int64)  # cell, place in the repeat -> times
        self._after = np.zeros((count, count), np.int64)  # cell, cell right after it -> times
        self._early_or_late = np.zeros(count)  # cell -> sum of its places, counted from the middle of a repeat
        self._last = -1

    def add(self, row: Integers) -> None:
        self._at[row, np.arange(len(row))] += 1
        self._after[row[:-1], row[1:]] += 1
        self._early_or_late[row] += self._from_middle(row)
        self._last = int(row[-1])

    def cost(self, row: Integers) -> tuple[bool, float]:
        """Of having `row` next: whether a cell would run twice in a row, then what is uneven. That is the share of places
        and neighbours that cells had before, and how early or late cells run, as a share of what one repeat does."""
        had_before = self._at[row, np.arange(len(row))].sum() + self._after[row[:-1], row[1:]].sum()
        of_one_repeat = self._from_middle(row)
        early_or_late = self._early_or_late[row] + of_one_repeat
        uneven = had_before / (2 * len(row)) + (early_or_late**2).sum() / max((of_one_repeat**2).sum(), 1)
        return bool(row[0] == self._last), float(uneven)

    @staticmethod
    def _from_middle(row: Integers) -> npt.NDArray[np.float64]:
        return np.arange(len(row), dtype=np.float64) - (len(row) - 1) / 2


def _next_row(design: Integers, unused: list[int], balance: _Balance) -> int:
    """Takes the row from `unused` that keeps the run most even, because most runs have too few repeats for all rows."""
    best = min(unused, key=lambda i: balance.cost(design[i]))
    unused.remove(best)
    return best
