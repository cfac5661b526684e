"""Append-only Parquet segments: written under a temporary name, renamed when whole, so a crash loses seconds."""

from __future__ import annotations

import contextlib
import errno
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.errors import DiskFullError
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Table


class SegmentWriter:
    """Collects rows of one table and writes them as numbered segments <directory>/<table>/<writer>-<number>.parquet.

    Numbers go on after those already there, so a writer that starts again never overwrites evidence.
    """

    def __init__(self, directory: Path, writer: str, table: Table) -> None:
        self._directory = directory / table.name
        self._writer = writer
        self._schema = arrow_schema(table)
        self._host = platform.node()
        self._batches: list[pa.RecordBatch] = []
        self._number = sum(1 for _ in self._directory.glob(f"{writer}-*.parquet")) if self._directory.is_dir() else 0

    def add(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Append rows given as columns, all of one length. Every column of the table must be there but `host`, which is
        the name of this host where it is not given."""
        n = len(next(iter(columns.values())))
        given = {"host": pa.repeat(self._host, n), **columns}
        arrays = [pa.array(given[field.name], type=field.type) for field in self._schema]
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def flush(self) -> Path | None:
        """Write what was added as one segment and give it its final name. Nothing added, nothing written."""
        rows = pa.Table.from_batches(self._batches, schema=self._schema)
        if rows.num_rows == 0:
            return None
        self._number += 1
        final = self._directory / f"{self._writer}-{self._number:06d}.parquet"
        temporary = final.with_name(f".{final.name}.tmp")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            pq.write_table(rows, temporary, compression="zstd")
            temporary.replace(final)
        except OSError as e:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            if e.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(e):
                raise DiskFullError(
                    f"no space left for evidence in {self._directory.resolve()}",
                    hint="free some space and run the same command again: finished executions are kept",
                ) from e
            raise
        self._batches.clear()
        return final
