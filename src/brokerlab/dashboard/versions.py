"""Rows that change, and which of them changed since a version: each reader keeps a number, and none is waited for."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from brokerlab.dashboard.many_histograms import Int64s
from brokerlab.report.embedded import encoded_column

Row = dict[str, Any]
Key = tuple[Any, ...]
Declared = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
KEPT_VERSIONS = 240  # a reader that has not looked for longer gets everything again


class VersionedRows:
    """Tables of rows by key. `put` replaces a row; a version is what one `with one_version()` put. `in_groups` are tables of very
    many rows of integers: there `put_group` replaces all rows whose keys begin alike, and `rows` are such groups."""

    def __init__(self, declared: Declared, in_groups: Collection[str] = ()) -> None:
        self._declared = declared
        self._in_groups = frozenset(in_groups)
        self._rows: dict[str, dict[Key, Any]] = {name: {} for name in declared}
        self._log: deque[tuple[int, dict[str, dict[Key, None]]]] = deque(maxlen=KEPT_VERSIONS)
        self._now: dict[str, dict[Key, None]] = {}
        self._whole: tuple[int, bytes] = (-1, b"")
        self.version = 0

    @contextmanager
    def one_version(self) -> Iterator[None]:
        self._now = {}
        try:
            yield
        finally:
            if self._now:
                self.version += 1
                self._log.append((self.version, self._now))

    def put(self, table: str, key: Key, values: tuple[Any, ...]) -> None:
        if self._rows[table].get(key) != values:
            self._rows[table][key] = values
            self._now.setdefault(table, {})[key] = None

    def put_group(self, table: str, key: Key, columns: Int64s) -> None:
        """`key` is what the keys of these rows begin with; `columns` are all others, one below the other."""
        self._rows[table][key] = columns
        self._now.setdefault(table, {})[key] = None

    def rows(self, table: str) -> Mapping[Key, Any]:
        return self._rows[table]

    def whole(self) -> bytes:
        """Every table by columns, as the page's scripts read them: JSON, made once for all readers of a version."""
        if self._whole[0] != self.version:
            tables = {name: self._encoded(name, sorted(rows)) for name, rows in self._rows.items()}
            self._whole = (self.version, as_json(tables))
        return self._whole[1]

    def changes(self, since: int) -> dict[str, Any] | None:
        """The rows put after version `since`, by columns; None where they are no longer known."""
        if self._log and self._log[0][0] > since + 1:
            return None
        changed: dict[str, dict[Key, None]] = {}
        for version, tables in reversed(self._log):
            if version <= since:
                break
            for name, keys in tables.items():
                changed.setdefault(name, {}).update(keys)
        return {name: self._encoded(name, sorted(keys)) for name, keys in changed.items()}

    def _encoded(self, name: str, keys: list[Key]) -> dict[str, Any]:
        named, valued = self._declared[name]
        names = (*named, *valued)
        if name in self._in_groups and keys:
            groups = [self._rows[name][key] for key in keys]
            rows, columns = sum(g.shape[1] for g in groups), _encoded_groups(keys, groups)
        else:
            found = [(*key, *self._rows[name][key]) for key in keys]
            rows = len(found)
            columns = [encoded_column(list(v)) for v in (zip(*found, strict=True) if found else [()] * len(names))]
        return {
            "rows": rows,
            "key": len(named),
            "columns": [{"name": n, **column} for n, column in zip(names, columns, strict=True)],
        }


def as_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _encoded_groups(keys: Sequence[Key], groups: Sequence[Int64s]) -> list[dict[str, Any]]:
    lengths = [group.shape[1] for group in groups]
    begun_with: list[dict[str, Any]] = []
    for values in zip(*keys, strict=True):
        runs: list[Any] = []
        for value, length in zip(values, lengths, strict=True):
            if runs and runs[-2] == value:
                runs[-1] += length
            else:
                runs += [value, length]
        begun_with.append({"runs": runs})
    return [*begun_with, *map(_encoded_numbers, np.concatenate(groups, axis=1))]


def _encoded_numbers(values: Int64s) -> dict[str, Any]:
    """As report.embedded.encoded_column, of integers."""
    begins = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    if 2 * len(begins) >= len(values):
        return {"values": values.tolist()}
    lengths = np.diff(begins, append=len(values))
    return {"runs": np.column_stack((values[begins], lengths)).ravel().tolist()}
