"""A lake opened for reading: every table by its name, for Spark and for pyarrow, in one state that does not change."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from brokerlab.errors import NotFoundError, UserError
from brokerlab.lake.manifest import Manifest, present
from brokerlab.lake.store import LocalStore, Store
from brokerlab.lake.tables import PLACES, in_files
from brokerlab.model.arrow import arrow_schema, as_declared, repeated
from brokerlab.model.tables import Table

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    from pyspark.sql import DataFrame, SparkSession


class Lake:
    """The state that was the present one when the lake was opened; open it again to see runs added since."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.manifest: Manifest = present(store)

    def tables(self) -> tuple[str, ...]:
        """Names of all tables."""
        return tuple(name for _, name in self.places())

    def places(self) -> tuple[tuple[str, str], ...]:
        """("gold/delivery", "delivery") of every table."""
        return tuple((place, place.partition("/")[2]) for place in PLACES)

    def runs(self) -> tuple[str, ...]:
        """Names of all runs, oldest first."""
        return tuple(sorted(self.manifest.runs))

    def files(self, table: str) -> list[str]:
        """Addresses of the files of one table."""
        return [f"{self.store.uri}/{file.path}" for file in self.manifest.files(_place(table))]

    def table(self, table: str, runs: Sequence[str] | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Rows of some runs, or of all, read at once without Spark and without pyarrow.dataset (which imports pandas: a
        second). `columns` in their declared order; all where none are named."""
        import pyarrow.parquet as pq

        place = _place(table)
        stored = in_files(PLACES[place])
        if columns is not None:
            stored = replace(stored, columns=tuple(c for c in stored.columns if c.name in columns))
        names = [c.name for c in _whole(PLACES[place]).columns if columns is None or c.name in {*columns, "run"}]
        parts = []
        for run in self.runs() if runs is None else runs:
            for file in self.manifest.runs[run].tables.get(place, ()):
                with pq.ParquetFile(pa.BufferReader(self.store.read(file.path))) as opened:
                    there = [n for n in stored.names() if n in opened.schema_arrow.names]
                    found = as_declared(opened.read(columns=there), stored)
                parts.append(found.add_column(0, "run", repeated(run, len(found))).select(names))
        return pa.concat_tables(parts) if parts else _columns(PLACES[place], names).empty_table()

    def frame(self, table: str, spark: SparkSession) -> DataFrame:
        """A table as a Spark frame: declared columns, `run` among them."""
        from pyspark.sql import functions as sf

        from brokerlab.pipeline.schema import declared, empty, spark_schema

        place = _place(table)
        whole = _whole(PLACES[place])
        files = self.files(table)
        if not files:
            return empty(spark, whole)
        read = spark.read.schema(spark_schema(whole)).option("basePath", f"{self.store.uri}/{place}")
        filled = {c.name: sf.coalesce(c.name, sf.lit(c.default)) for c in whole.columns if _scalar(c.default)}
        return declared(read.parquet(*files).withColumns(filled) if filled else read.parquet(*files), whole)

    def rows(self, table: str, columns: list[str]) -> pa.Table:
        """Some columns of a table, whole, by whatever reads the lake's file system."""
        if isinstance(self.store, LocalStore):
            return self.dataset(table).to_table(columns=columns)
        from brokerlab.lake.hadoop import HadoopStore

        assert isinstance(self.store, HadoopStore)
        return self.frame(table, self.store.spark).select(*columns).toArrow()

    def dataset(self, table: str) -> ds.Dataset:
        """A table as a pyarrow dataset, without Spark: `dataset(...).to_table(filter=...)`, `.to_pandas()`."""
        import pyarrow.dataset as ds

        place = _place(table)
        columns = [pa.field(f.name, f.type) for f in arrow_schema(_whole(PLACES[place]))]
        if not isinstance(self.store, LocalStore):
            raise UserError(f"pyarrow reads lakes on file: only, not {self.store.uri}", hint="use frame() with Spark")
        paths = [str(self.store.root / file.path) for file in self.manifest.files(place)]
        schema = pa.schema(columns)
        if not paths:
            return ds.dataset(schema.empty_table())
        in_path = ds.partitioning(pa.schema([pa.field("run", pa.string())]), flavor="hive")
        return ds.dataset(
            paths, schema=schema, format="parquet", partitioning=in_path, partition_base_dir=str(self.store.root)
        )


def _place(table: str) -> str:
    by_name = {place.partition("/")[2]: place for place in PLACES}
    name = table.partition("/")[2] or table
    if name not in by_name:
        near = difflib.get_close_matches(name, by_name, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"tables: {', '.join(by_name)}"
        raise NotFoundError(f"no table of the lake is called {table!r}", hint=hint)
    return by_name[name]


def _whole(table: Table) -> Table:
    """All columns of the table, also those that its query does not make."""
    of_files = in_files(table)
    run = next(c for c in table.columns if c.name == "run")
    return replace(table, columns=(replace(run, added=False), *of_files.columns))


def _columns(table: Table, names: Sequence[str]) -> pa.Schema:
    whole = arrow_schema(_whole(table))
    return pa.schema([whole.field(name) for name in names])


def _scalar(default: object) -> bool:
    return default is not None and default != ()
