"""The files of a run as the scan divides them: compacted ones for their segments, small ones whole, large ones by row groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow.parquet as pq

from brokerlab.evidence.compacted import whole
from brokerlab.model.tables import Table
from brokerlab.pipeline.bronze import Bronze
from brokerlab.pipeline.scan import FilePart

OPENING = 16 << 10  # opening a file costs about as much as reading so many bytes
PART_BYTES = 32 << 20


def file_parts(bronze: Bronze, tables: Iterable[Table]) -> list[tuple[FilePart, int]]:
    """Every readable file of these tables, or its parts, each with its weight in bytes."""
    found = []
    for table in tables:
        segments = bronze.segments[table.name]
        compacted = whole((s.compacted, s.path) for s in segments if s.compacted is not None)
        for file in compacted.values():
            stands_for = tuple((str(file.file_of(one)), one.rows) for one in file.listed)
            part = FilePart(str(file.path), file.listed[0].identity.execution, table.name, segments=stands_for)
            found.append((part, file.path.stat().st_size + OPENING))
        for segment in segments:
            if segment.compacted is not None and segment.compacted.path in compacted:
                continue
            part = FilePart(str(segment.path), segment.execution, table.name)
            size = segment.path.stat().st_size
            if size <= PART_BYTES:
                found.append((part, size + OPENING))
            else:
                found += _divided(part)
    return found


def _divided(file: FilePart) -> list[tuple[FilePart, int]]:
    meta = pq.read_metadata(file.path)
    groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
    sizes = [sum(g.column(i).total_compressed_size for i in range(g.num_columns)) for g in groups]
    return [
        (FilePart(file.path, file.execution, file.table, (i, i + 1)), size + OPENING) for i, size in enumerate(sizes)
    ]


def is_divided(tasks: Sequence[Sequence[FilePart]], path: str) -> bool:
    """Whether several parts of this file are read."""
    return sum(part.path == path for task in tasks for part in task) > 1
