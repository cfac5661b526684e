"""Runs and a lake for the lake's tests."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from brokerlab.lake.ingest import WITHOUT_SPARK, Added, add
from brokerlab.lake.reading import Lake
from brokerlab.lake.store import LocalStore, Store
from brokerlab.lake.survey import runs_below
from brokerlab.model.arrow import WRITER_KEY
from brokerlab.results.tables import EVIDENCE_FILE, RESULT_TABLES, UNREADABLE_SEGMENT
from synthetic_tables import Story

WITH_EVIDENCE = "20261117T100000-evidence-aaaaaa"
SMALL = Story(cells=1, repeats=2, measure_s=5, warm_up_s=1, rate_per_s=200.0)


@dataclass
class Place:
    """A directory of runs, and a lake beside it. The directory's name has characters that addresses encode."""

    root: Path
    spark: SparkSession
    added: tuple[str, ...] = ()  # when it was filled

    @property
    def runs(self) -> Path:
        return self.root / "runs of 100 %"

    @property
    def store(self) -> LocalStore:
        return LocalStore(self.root / "lake")

    @property
    def lake(self) -> Lake:
        return Lake(self.store)

    def session(self) -> AbstractContextManager[SparkSession]:
        return nullcontext(self.spark)

    def add(self, store: Store | None = None, *, again: bool = False, without_spark: int = WITHOUT_SPARK) -> Added:
        directories = runs_below(self.runs)
        return add(store or self.store, directories, self.session, again=again, without_spark=without_spark)


def spoil_rows(file: Path) -> None:
    """Make the first row of an evidence file break a rule."""
    table = pq.read_table(file)
    rows = table.to_pylist()
    rows[0]["elapsed_ns"] = -1
    pq.write_table(pa.Table.from_pylist(rows, table.schema), file)


def as_first_version(run: Path) -> None:
    """Leave of a run's tables what 0.1.0 wrote: without later tables and columns, and without a version in the footer."""
    for later in (UNREADABLE_SEGMENT, EVIDENCE_FILE):
        shutil.rmtree(run / "tables" / later.name)
    for name, table in RESULT_TABLES.items():
        for file in (run / "tables" / name).glob("*.parquet"):
            found = pq.read_table(file).select([c.name for c in table.columns if c.since == "0.1.0"])
            metadata = {k: v for k, v in found.schema.metadata.items() if k != WRITER_KEY}
            pq.write_table(found.replace_schema_metadata(metadata), file)


def as_rows(frame: DataFrame) -> list[str]:
    """Rows in an order that does not depend on files."""
    return sorted(str(row) for row in frame.toArrow().to_pylist())
