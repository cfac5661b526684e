"""Rows that change, and which of them changed since a version: each reader keeps a number, and none is waited for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from brokerlab.report.embedded import encoded_column

Row = dict[str, Any]
Key = tuple[Any, ...]
Declared = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
KEPT_VERSIONS = 240  # a reader that has not looked for longer gets everything again


class VersionedRows:
    """Tables of rows by key. `put` replaces a row; a version is what one `with one_version()` put."""

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._rows: dict[str, dict[Key, tuple[Any, ...]]] = {name: {} for name in declared}
        self._log: deque[tuple[int, dict[str, dict[Key, None]]]] = deque(maxlen=KEPT_VERSIONS)
        self._now: dict[str, dict[Key, None]] = {}
        self._whole: tuple[int, dict[str, Any]] = (-1, {})
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

    def rows(self, table: str) -> Mapping[Key, tuple[Any, ...]]:
        return self._rows[table]

    def whole(self) -> dict[str, Any]:
        """Every table by columns, as the page's scripts read them."""
        if self._whole[0] != self.version:
            self._whole = (self.version, {name: self._encoded(name, sorted(rows)) for name, rows in self._rows.items()})
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
        rows = [(*key, *self._rows[name][key]) for key in keys]
        columns = zip(*rows, strict=True) if rows else [()] * (len(named) + len(valued))
        return {
            "rows": len(rows),
            "key": len(named),
            "columns": [
                {"name": n, **encoded_column(list(values))}
                for n, values in zip((*named, *valued), columns, strict=True)
            ],
        }
