"""A declared table as an Arrow schema: what writers write and readers check. A file's footer says which version of the
schema and which version of brokerlab wrote it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from brokerlab import __version__
from brokerlab.model.tables import Column, Table

TABLE_KEY = b"brokerlab.table"
VERSION_KEY = b"brokerlab.schema_version"
WRITER_KEY = b"brokerlab.version"
FIRST_WRITER = "0.1.0"  # its files do not name it

_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "array<int>": pa.list_(pa.int32()),
    "array<long>": pa.list_(pa.int64()),
    "array<double>": pa.list_(pa.float64()),
}


def arrow_schema(table: Table) -> pa.Schema:
    """The columns of `table` in order, with its name, its schema version and our version in the metadata."""
    fields = [_field(c) for c in table.columns]
    written_by = {VERSION_KEY: str(table.schema_version).encode(), WRITER_KEY: __version__.encode()}
    return pa.schema(fields, {TABLE_KEY: table.name.encode(), **written_by})


def schema_version(schema: pa.Schema) -> int | None:
    """The version a file was written with, None when it does not say."""
    said = (schema.metadata or {}).get(VERSION_KEY)
    return int(said) if said is not None and said.isdigit() else None


def written_by(schema: pa.Schema) -> str:
    """The version of brokerlab that wrote a file."""
    said: bytes = (schema.metadata or {}).get(WRITER_KEY, FIRST_WRITER.encode())
    return said.decode()


def later_columns(found: pa.Schema, table: Table) -> tuple[Column, ...]:
    """The columns of `table` that the file's writer did not have yet: they are read with their default."""
    writer = _ordered(written_by(found))
    return tuple(c for c in table.columns if c.name not in found.names and _ordered(c.since) > writer)


def schema_problem(found: pa.Schema, table: Table) -> str | None:
    """Why a file with this schema cannot be read as `table`; None when it can, with defaults for later columns.

    The files of a run are nearly all alike: one that is like the last of its table needs no second look.
    """
    alike = (table.name, schema_version(found), written_by(found))
    known = _last_looked_at.get(alike)
    if known is None or known[0] is not table or not found.equals(known[1]):
        known = _last_looked_at[alike] = (table, found, _schema_problem(found, table))
    return known[2]


_last_looked_at: dict[tuple[str, int | None, str], tuple[Table, pa.Schema, str | None]] = {}


def _schema_problem(found: pa.Schema, table: Table) -> str | None:
    version, writer = schema_version(found), written_by(found)
    newer_writer = _ordered(writer) > _ordered(__version__)
    unknown = [name for name in found.names if name not in table.names()]
    if (version or 0) > table.schema_version or (newer_writer and unknown):
        return f"written by brokerlab {writer} (schema version {version}), this is {__version__}: update brokerlab"
    if version != table.schema_version:
        return f"schema version {version}, this brokerlab reads {table.schema_version}"
    later = {c.name for c in later_columns(found, table)}
    missing = [name for name in table.names() if name not in found.names and name not in later]
    if missing:
        return f"columns missing: {', '.join(missing)}"
    present = [_field(c) for c in table.columns if c.name not in later]
    other = [f"{f.name} is {found.field(f.name).type}" for f in present if not _same(found.field(f.name).type, f.type)]
    return f"types differ: {', '.join(other)}" if other else None


def as_declared(found: pa.Table, table: Table) -> pa.Table:
    """The rows of a file without `schema_problem` with exactly the columns of `table`, later ones with their default."""
    return with_later_columns(found, table).cast(arrow_schema(table))


def with_later_columns(found: pa.Table, table: Table) -> pa.Table:
    """The same, with types as they are in the file."""
    for column in later_columns(found.schema, table):
        default: object = [] if column.default == () else column.default
        same = pa.repeat(pa.scalar(default, _TYPES[column.type]), found.num_rows)
        found = found.append_column(_field(column), same)
    return found.select(list(table.names()))


def repeated(text: str, times: int) -> pa.Array:
    """A column of one text. From buffers: pa.array() and pa.scalar() import pandas, which takes half a second."""
    encoded = text.encode()
    ends = np.arange(times + 1, dtype=np.int32) * len(encoded)
    return pa.StringArray.from_buffers(times, pa.py_buffer(ends), pa.py_buffer(encoded * times))


def _field(column: Column) -> pa.Field:
    return pa.field(column.name, _TYPES[column.type], nullable=column.nullable)


def _ordered(version: str) -> tuple[int, ...]:
    """For comparing: "0.10.1" is later than "0.9"."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _same(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Equal types; the name and nullability of a list's element do not matter."""
    if pa.types.is_list(found) and pa.types.is_list(wanted):
        return bool(found.value_type == wanted.value_type)
    return bool(found == wanted)
