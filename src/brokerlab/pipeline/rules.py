"""The rules a row of evidence must keep: each a small value that Spark's workers evaluate on Arrow columns and SQL on rows.

A value that is missing breaks every rule that looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Rule:
    """`reason` is what is said of a row that breaks it."""

    reason: str

    def sql(self) -> str:
        """A condition that is true, or null, for rows that break it."""
        raise NotImplementedError

    def broken(self, rows: pa.Table) -> Mask | None:
        """Which rows break it; None where none does."""
        raise NotImplementedError


@dataclass(frozen=True)
class Present(Rule):
    columns: tuple[str, ...]

    def sql(self) -> str:
        return " OR ".join(f"`{name}` IS NULL" for name in self.columns)

    def broken(self, rows: pa.Table) -> Mask | None:
        return _any(pc.is_null(rows[name]) for name in self.columns if rows[name].null_count)


@dataclass(frozen=True)
class OneOf(Rule):
    column: str
    words: tuple[str, ...]

    def sql(self) -> str:
        return f"{self.column} NOT IN ({quoted(self.words)})"

    def broken(self, rows: pa.Table) -> Mask | None:
        column = rows[self.column]
        if set(column.unique().to_pylist()) <= set(self.words):
            return None
        return _any([pc.invert(pc.is_in(column.cast(pa.string()), pa.array(self.words, pa.string())))])


@dataclass(frozen=True)
class Planned(Rule):
    """`executions` are those of the plan ("c01-r1")."""

    executions: tuple[str, ...]

    def sql(self) -> str:
        return f"concat(cell, '-r', repeat) NOT IN ({quoted(self.executions)})"

    def broken(self, rows: pa.Table) -> Mask | None:
        cells, repeats = rows["cell"].unique().to_pylist(), rows["repeat"].unique().to_pylist()
        if {f"{cell}-r{repeat}" for cell in cells for repeat in repeats} <= set(self.executions):
            return None
        names = pc.binary_join_element_wise(rows["cell"].cast(pa.string()), rows["repeat"].cast(pa.string()), "-r")
        known = pc.is_in(names, pa.array(self.executions, pa.string()))
        return _any([pc.if_else(pc.is_null(names), None, pc.invert(known))])


@dataclass(frozen=True)
class InOrder(Rule):
    first: str
    last: str

    def sql(self) -> str:
        return f"`{self.first}` > `{self.last}`"

    def broken(self, rows: pa.Table) -> Mask | None:
        return _any([pc.greater(rows[self.first], rows[self.last])])


@dataclass(frozen=True)
class Positive(Rule):
    column: str

    def sql(self) -> str:
        return f"`{self.column}` <= 0"

    def broken(self, rows: pa.Table) -> Mask | None:
        return _any([pc.less_equal(rows[self.column], 0)])


@dataclass(frozen=True)
class ANumber(Rule):
    column: str

    def sql(self) -> str:
        return f"isnan({self.column})"

    def broken(self, rows: pa.Table) -> Mask | None:
        return _any([pc.is_nan(rows[self.column])])


@dataclass(frozen=True)
class NotNegative(Rule):
    columns: tuple[str, ...]

    def sql(self) -> str:
        return " OR ".join(f"`{name}` < 0" for name in self.columns)

    def broken(self, rows: pa.Table) -> Mask | None:
        suspects = [n for n in self.columns if rows[n].null_count or (pc.min(rows[n]).as_py() or 0) < 0]
        return _any(pc.less(rows[name], 0) for name in suspects)


@dataclass(frozen=True)
class Equal(Rule):
    column: str
    value: int

    def sql(self) -> str:
        return f"{self.column} != {self.value}"

    def broken(self, rows: pa.Table) -> Mask | None:
        return _any([pc.not_equal(rows[self.column], self.value)])


@dataclass(frozen=True)
class SameLength(Rule):
    one: str
    other: str

    def sql(self) -> str:
        return f"size({self.one}) != size({self.other})"

    def broken(self, rows: pa.Table) -> Mask | None:
        return _any([pc.not_equal(pc.list_value_length(rows[self.one]), pc.list_value_length(rows[self.other]))])


@dataclass(frozen=True)
class NoNegativeElement(Rule):
    """Arrays that are missing or empty keep it."""

    columns: tuple[str, ...]

    def sql(self) -> str:
        smallest = ", ".join(f"array_min({name})" for name in self.columns)
        return f"coalesce(least({smallest}) < 0, false)"

    def broken(self, rows: pa.Table) -> Mask | None:
        found: Mask | None = None
        for name in self.columns:
            column = rows[name].combine_chunks()
            if (pc.min(pc.list_flatten(column)).as_py() or 0) >= 0:
                continue
            found = np.zeros(rows.num_rows, bool) if found is None else found
            negative = pc.fill_null(pc.less(pc.list_flatten(column), 0), False).to_numpy(zero_copy_only=False)
            found[pc.list_parent_indices(column).to_numpy()[negative]] = True
        return found


def judged(rows: pa.Table, rules: Sequence[Rule]) -> tuple[pa.Table, dict[int, str]]:
    """Good rows, and for each row that is to be set aside, by its place, why."""
    broken = [(rule.reason, mask) for rule in rules if (mask := rule.broken(rows)) is not None]
    if not broken:
        return rows, {}
    bad = np.logical_or.reduce([mask for _, mask in broken])
    reasons = {
        place: "; ".join(reason for reason, mask in broken if mask[place]) for place in np.flatnonzero(bad).tolist()
    }
    return rows.filter(pa.array(~bad)), reasons


def quoted(words: Iterable[str]) -> str:
    """Words as SQL strings; the plan's names have no quotes, and any that did would not match evidence either."""
    return ", ".join("'" + word.replace("'", "") + "'" for word in words)


def _any(masks: Iterable[Any]) -> Mask | None:
    """Rows for which a mask is true or null; None where there is none."""
    found: Mask | None = None
    for mask in masks:
        if mask.null_count == 0 and not pc.any(mask).as_py():
            continue
        each = pc.fill_null(mask, True).to_numpy(zero_copy_only=False)
        found = each if found is None else found | each
    return found
