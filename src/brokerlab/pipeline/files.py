"""The files of a run as the scan divides them: small ones whole, large ones by row groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow.parquet as pq

from brokerlab.model.tables import Table
from brokerlab.pipeline.bronze import Bronze
from brokerlab.pipeline.scan import FilePart

OPENING = 16 << 10  # opening a file costs about as much as reading so many bytes
PART_BYTES = 32 << 20


def file_parts(bronze: Bronze, tables: Iterable[Table]) -> list[tuple[FilePart, int]]:
    """Every readable file of these tables, or its parts, each with its weight in bytes."""
    found = []
    for table in tables:
        for segment in bronze.segments[table.name]:
            whole = FilePart(str(segment.path), segment.execution, table.name)
            size = segment.path.stat().st_size
            if size <= PART_BYTES:
                found.append((whole, size + OPENING))
            else:
                found += _divided(whole)
    return found


def _divided(whole: FilePart) -> list[tuple[FilePart, int]]:
    meta = pq.read_metadata(whole.path)
    groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
    sizes = [sum(g.column(i).total_compressed_size for i in range(g.num_columns)) for g in groups]
    return [
        (FilePart(whole.path, whole.execution, whole.table, (i, i + 1)), size + OPENING) for i, size in enumerate(sizes)
    ]


def is_divided(tasks: Sequence[Sequence[FilePart]], path: str) -> bool:
    """Whether several parts of this file are read."""
    return sum(part.path == path for task in tasks for part in task) > 1
