"""What has been added to a run directory since the last look: rows of closed segments, in the order of their numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.model.execution_id import ExecutionId

_ROOTS = {"reading": "probes", "activity": "evidence", "interval": "evidence"}  # table -> where its segments are


@dataclass(frozen=True)
class News:
    """One segment that was closed since the last look."""

    execution: ExecutionId
    table: str
    rows: pa.Table


class Tail:
    """Follows one run. Segments that are there already when it begins are passed over: they belong to what was before."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._seen: dict[str, set[str]] = {}
        for path, _, _ in self._places():
            self._seen[path] = set(_segments(path))

    def look(self) -> Iterator[News]:
        """What is new. A file that cannot be read is passed over: the analysis says so."""
        for path, execution, table in self._places():
            seen = self._seen.setdefault(path, set())
            for name in sorted(set(_segments(path)) - seen):
                seen.add(name)
                try:
                    rows = pq.read_table(f"{path}/{name}")
                except (OSError, pa.ArrowException):
                    continue
                yield News(execution, table, rows)

    def _places(self) -> Iterator[tuple[str, ExecutionId, str]]:
        """Directories with segments. An execution that has not changed while another one began has ended."""
        executions: dict[str, float] = {}
        for root in dict.fromkeys(_ROOTS.values()):
            for entry in _entries(f"{self._directory}/{root}"):
                executions[entry.name] = max(executions.get(entry.name, 0.0), entry.stat().st_mtime)
        latest = sorted(executions, key=executions.__getitem__)[-2:]
        for name in latest:
            try:
                execution = ExecutionId.parse(name)
            except ValueError:
                continue
            for table, root in _ROOTS.items():
                yield f"{self._directory}/{root}/{name}/{table}", execution, table


def _entries(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as found:
            return [entry for entry in found if entry.is_dir()]
    except OSError:
        return []


def _segments(path: str) -> list[str]:
    try:
        return [name for name in os.listdir(path) if name.endswith(".parquet") and not name.startswith(".")]  # noqa: PTH208
    except OSError:
        return []
