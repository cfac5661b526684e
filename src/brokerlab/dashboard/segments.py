"""What has been added to an execution since one looked last: closed segments and live lines. Reads only, waits for nothing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.model.arrow import as_declared, schema_problem
from brokerlab.model.tables import Table

SETTLED_NS = 1_000_000_000  # file systems tell changes apart by ticks of some milliseconds; some by seconds
SLOW_LOOK_S = 0.01
PAUSE = 50  # times as long as it took to look through a folder with very many segments


class NewSegments:
    """The closed segments of one table that were not there before, each once. Those that cannot be read are counted and
    left to the analysis, which says why."""

    def __init__(self, directory: Path, table: Table, columns: Sequence[str]) -> None:
        self._directory = directory / table.name
        self._table = table
        self._columns = list(columns)
        self._changed_ns = -1
        self._look_again_s = 0.0
        self._seen: set[str] = set()
        self.unreadable = 0

    def read(self, most: int = 2000) -> Iterator[pa.Table]:
        """At most so many: a long history comes in parts, so that what is there can be shown meanwhile."""
        try:
            changed_ns = self._directory.stat().st_mtime_ns
        except OSError:
            return
        if changed_ns == self._changed_ns or time.monotonic() < self._look_again_s:
            return
        looked_ns, began_s = time.time_ns(), time.monotonic()
        names = (entry.name for entry in os.scandir(self._directory))
        fresh = sorted(n for n in names if n not in self._seen and _is_closed(n))
        took_s = time.monotonic() - began_s
        for name in fresh[:most]:
            self._seen.add(name)
            rows = self._rows(self._directory / name)
            if rows is not None:
                yield rows
        if len(fresh) > most:
            return
        # A segment that is added within the same tick leaves the folder's time as it is: a recent one is looked at again.
        if looked_ns - changed_ns > SETTLED_NS:
            self._changed_ns = changed_ns
        if took_s > SLOW_LOOK_S:
            self._look_again_s = time.monotonic() + PAUSE * took_s

    def _rows(self, path: Path) -> pa.Table | None:
        try:
            with pq.ParquetFile(path) as file:
                if schema_problem(file.schema_arrow, self._table) is None:
                    here = set(file.schema_arrow.names)
                    if here >= set(self._columns):
                        return file.read(columns=self._columns, use_threads=False)
                    return as_declared(file.read(use_threads=False), self._table).select(self._columns)
        except (pa.ArrowException, OSError, ValueError):
            pass
        self.unreadable += 1
        return None


def _is_closed(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith(".")


class NewLines:
    """The whole lines that were added to a file of JSON lines; one that is damaged is passed over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = 0

    def read(self) -> Iterator[dict[str, Any]]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._place)
                added = file.read()
        except OSError:
            return
        whole = added[: added.rfind(b"\n") + 1]
        self._place += len(whole)
        for line in whole.splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict):
                yield said
