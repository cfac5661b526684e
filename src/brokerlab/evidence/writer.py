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
from brokerlab.evidence.compacted import Keeper
from brokerlab.evidence.identity import SEGMENT_KEY, Identity
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Table


class SegmentWriter:
    """Collects rows of one table and writes them as numbered segments <directory>/<table>/<writer>-<number>.parquet.

    Numbers go on after those already there, so a writer that starts again never overwrites evidence. Every segment says
    in its footer which one it is: see evidence.identity.
    """

    def __init__(self, directory: Path, writer: str, table: Table, attempt: int = 1) -> None:
        self._directory = directory / table.name
        self._writer = writer
        self._schema = arrow_schema(table)
        self._host = platform.node()
        self._batches: list[pa.RecordBatch] = []
        self._attempt = attempt
        self._number = _last_number(self._directory, writer)
        self._small = Keeper(self._directory, writer)

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
            identity = self._identity(rows)
            pq.write_table(_named(rows, identity), temporary, compression="zstd")
            size = temporary.stat().st_size
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
        self._small.keep(identity, rows, size)
        return final

    def close(self) -> None:
        """Write what was added, and all small segments once more as one file: see evidence.compacted."""
        self.flush()
        self._small.write()

    def _identity(self, rows: pa.Table) -> Identity:
        run, cell, repeat = (rows[name][0].as_py() for name in ("run", "cell", "repeat"))
        return Identity(run, f"{cell}-r{repeat}", self._attempt, self._writer, self._number)


def _named(rows: pa.Table, identity: Identity) -> pa.Table:
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), SEGMENT_KEY: identity.encoded()})


def _last_number(directory: Path, writer: str) -> int:
    stems = (path.stem.removeprefix(f"{writer}-") for path in directory.glob(f"{writer}-*.parquet"))
    return max((int(stem) for stem in stems if stem.isdigit()), default=0)
