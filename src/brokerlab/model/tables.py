"""How a table is declared once: evidence writers, the Spark pipeline, readers and docs/measurements.md all use it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Type = Literal["string", "int", "long", "double", "boolean", "binary", "array<int>", "array<long>", "array<double>"]
Default = str | int | float | bool | tuple[()] | None  # () is the empty array


@dataclass(frozen=True)
class Column:
    """`unit` is "1" for counts and "" for names; `meaning` says definition, clock and formula in one sentence.

    `since` is the first version that writes the column. Files of earlier versions are read with `default` in it.
    """

    name: str
    type: Type
    unit: str
    meaning: str
    nullable: bool = False
    since: str = "0.1.0"
    default: Default = None
    added: bool = False  # of a result table: not made by its query, but added to every row when the table is written


@dataclass(frozen=True)
class Table:
    """A new column needs `since` and a default; a changed meaning needs a new `schema_version`."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    schema_version: int = 1

    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    def computed(self) -> Table:
        """The table without the columns that are added when it is written."""
        return replace(self, columns=tuple(c for c in self.columns if not c.added))
