"""Spark reads files of several versions side by side, and reads them as pyarrow does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from brokerlab.evidence.segments import rows, segments
from brokerlab.evidence.tables import SEQUENCE
from brokerlab.model.arrow import WRITER_KEY
from brokerlab.model.tables import Column
from brokerlab.pipeline.bronze import Bronze, read_bronze
from synthetic import write_run

GROWN = replace(
    SEQUENCE,
    columns=(
        *SEQUENCE.columns,
        Column("colour", "string", "", "a colour", since="0.2.0", default="grey"),
        Column("weights", "array<long>", "1", "weights", since="0.2.0", default=()),
    ),
)


def of_0_1_0(path: Path) -> None:
    """Make a file one that the first version could have written: it did not name itself, and had no such columns."""
    table = pq.read_table(path)
    kept = [name for name in table.schema.names if name in {c.name for c in SEQUENCE.columns if c.since == "0.1.0"}]
    metadata = {k: v for k, v in table.schema.metadata.items() if k != WRITER_KEY}
    pq.write_table(table.select(kept).replace_schema_metadata(metadata), path)


def grow(path: Path) -> None:
    table = pq.read_table(path)
    table = table.append_column("colour", [["red"] * table.num_rows])
    pq.write_table(table.append_column("weights", [[[1, 2]] * table.num_rows]), path)


def test_old_and_new_segments_are_read_together(tmp_path: Path, spark: SparkSession) -> None:
    run = write_run(tmp_path / "run").directory.path
    of_execution = sorted(run.glob("evidence/c01-r1/sequence/*.parquet"))
    old, new = of_execution[0], of_execution[1:]
    of_0_1_0(old)
    for path in new:
        grow(path)
    for path in set(run.glob("evidence/*/sequence/*.parquet")) - set(of_execution):
        of_0_1_0(path)
    readable, unreadable = segments(run, GROWN)
    assert unreadable == []
    found = [
        row.asDict() for row in read_bronze(spark, Bronze({GROWN.name: readable}, ()), GROWN).where("cell = 'c01'").where("repeat = 1").collect()
    ]  # fmt: skip
    by_pyarrow = list(rows(run / "evidence" / "c01-r1", GROWN))

    def by_time(row: dict[str, object]) -> str:
        return repr(sorted(row.items()))

    assert sorted(found, key=by_time) == sorted(by_pyarrow, key=by_time)
    assert {(r["colour"], tuple(r["weights"])) for r in found} == {("grey", ()), ("red", (1, 2))}
