"""A declared table as an Arrow schema: what writers write and readers check. The version travels in the file's footer."""

from __future__ import annotations

import pyarrow as pa

from brokerlab.model.tables import Table

TABLE_KEY = b"brokerlab.table"
VERSION_KEY = b"brokerlab.schema_version"

_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "array<int>": pa.list_(pa.int32()),
    "array<long>": pa.list_(pa.int64()),
    "array<double>": pa.list_(pa.float64()),
}


def arrow_schema(table: Table) -> pa.Schema:
    """The columns of `table` in order, with its name and schema version in the metadata."""
    fields = [pa.field(c.name, _TYPES[c.type], nullable=c.nullable) for c in table.columns]
    return pa.schema(fields, {TABLE_KEY: table.name.encode(), VERSION_KEY: str(table.schema_version).encode()})


def schema_version(schema: pa.Schema) -> int | None:
    """The version a file was written with, None when it does not say."""
    said = (schema.metadata or {}).get(VERSION_KEY)
    return int(said) if said is not None and said.isdigit() else None
