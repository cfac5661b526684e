"""Files of other versions: older ones are read with defaults, newer ones are refused, damaged ones are named."""

from __future__ import annotations

import pyarrow as pa
import pytest

from brokerlab import __version__
from brokerlab.evidence.tables import EVIDENCE_TABLES
from brokerlab.model.arrow import (
    TABLE_KEY,
    VERSION_KEY,
    WRITER_KEY,
    arrow_schema,
    as_declared,
    later_columns,
    repeated,
    schema_problem,
    written_by,
)
from brokerlab.model.tables import Column, Table
from brokerlab.results.tables import RESULT_TABLES

OLD = (Column("name", "string", "", "a name"), Column("count", "long", "1", "a count"))
GROWN = Table(
    "grown",
    "a table that has grown",
    (
        *OLD,
        Column("host", "string", "", "a host", since="0.2.0", default=""),
        Column("buckets", "array<int>", "1", "buckets", since="0.2.0", default=()),
        Column("worst_ns", "long", "ns", "the worst", nullable=True, since="0.2.0"),
    ),
)
OLD_ROWS = {"name": ["a", "b"], "count": [1, 2]}


def file(columns: dict[str, list[object]], *, version: int = 1, writer: str | None = None) -> pa.Table:
    """Rows as they are read from a file; files of 0.1.0 do not name their writer."""
    said = {} if writer is None else {WRITER_KEY: writer.encode()}
    made = pa.table({name: columns[name] for name in columns})
    return made.replace_schema_metadata({TABLE_KEY: b"grown", VERSION_KEY: str(version).encode(), **said})


def test_a_file_that_names_no_writer_is_of_0_1_0() -> None:
    assert written_by(file(OLD_ROWS).schema) == "0.1.0"
    assert written_by(arrow_schema(GROWN)) == __version__


def test_an_older_file_is_read_with_the_defaults_of_later_columns() -> None:
    old = file(OLD_ROWS)
    assert schema_problem(old.schema, GROWN) is None
    assert [c.name for c in later_columns(old.schema, GROWN)] == ["host", "buckets", "worst_ns"]
    read = as_declared(old, GROWN)
    assert read.schema == arrow_schema(GROWN)
    assert read.to_pylist() == [
        {"name": "a", "count": 1, "host": "", "buckets": [], "worst_ns": None},
        {"name": "b", "count": 2, "host": "", "buckets": [], "worst_ns": None},
    ]


def test_a_column_that_the_writer_must_have_had_is_missing_not_defaulted() -> None:
    assert schema_problem(file({"name": ["a"]}).schema, GROWN) == "columns missing: count"
    of_its_own_time = file(OLD_ROWS, writer="0.2.0")
    assert schema_problem(of_its_own_time.schema, GROWN) == "columns missing: host, buckets, worst_ns"


@pytest.mark.parametrize(
    "newer",
    [
        file(OLD_ROWS, version=2, writer="9.0.0"),
        file({**OLD_ROWS, "host": [""] * 2, "buckets": [[]] * 2, "worst_ns": [0] * 2, "new": [1, 2]}, writer="9.0.0"),
    ],
    ids=["a higher schema version", "a column this version does not know"],
)
def test_a_newer_file_is_refused_with_both_versions_and_what_to_do(newer: pa.Table) -> None:
    said = schema_problem(newer.schema, GROWN)
    assert said is not None
    assert "written by brokerlab 9.0.0" in said
    assert f"this is {__version__}: update brokerlab" in said


def test_a_newer_writer_of_the_same_columns_is_read() -> None:
    assert schema_problem(file(OLD_ROWS, writer="9.0.0").schema, Table("grown", "", OLD)) is None


def test_versions_are_compared_as_numbers() -> None:
    table = Table("grown", "", (*OLD, Column("host", "string", "", "a host", since="0.10.0", default="")))
    assert schema_problem(file(OLD_ROWS, writer="0.9.0").schema, table) is None


@pytest.mark.parametrize("table", [*EVIDENCE_TABLES.values(), *RESULT_TABLES.values()], ids=lambda t: t.name)
def test_every_column_that_came_later_has_a_default(table: Table) -> None:
    later = [c for c in table.columns if c.since != "0.1.0"]
    assert [c.name for c in later if c.default is None and not c.nullable] == []


@pytest.mark.parametrize(("text", "times"), [("", 3), ("run", 0), ("zäh → ok", 4)])
def test_a_repeated_text_is_a_valid_column(text: str, times: int) -> None:
    column = repeated(text, times)
    column.validate(full=True)
    assert column.to_pylist() == [text] * times
