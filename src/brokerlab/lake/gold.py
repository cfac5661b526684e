"""Result tables of many runs as Spark frames: columns that an older analysis did not have yet with their default, and the
run that every row is of, by the directory its file lies in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from brokerlab.lake.survey import Part
from brokerlab.lake.tables import in_files
from brokerlab.model.tables import Table
from brokerlab.pipeline.schema import spark_schema, with_defaults

_DIRECTORY = "_directory"


def gold_frame(
    spark: SparkSession, table: Table, parts: Mapping[str, Sequence[Part]], directories: Mapping[str, Path]
) -> DataFrame | None:
    """The rows of one result table of all runs, `parts` and `directories` by run; None where no run has a row."""
    stored = in_files(table)
    by_age: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for part in (part for of_run in parts.values() for part in of_run if part.rows):
        by_age[part.later].append(str(part.path))
    if not by_age:
        return None
    read = spark.read.schema(spark_schema(stored))
    rows = reduce(
        DataFrame.unionByName,
        (
            with_defaults(_with_directory(read.parquet(*paths)), stored, set(later) - {"run"})
            for later, paths in by_age.items()
        ),
    )
    return rows.join(sf.broadcast(_runs(spark, directories)), _DIRECTORY).drop(_DIRECTORY)


def _with_directory(frame: DataFrame) -> DataFrame:
    """With the run directory of every row's file, as Hadoop writes its address."""
    directory = sf.regexp_extract(sf.input_file_name(), "^(.*)/tables/[^/]+/[^/]+$", 1)
    return frame.withColumn(_DIRECTORY, directory)


def _runs(spark: SparkSession, directories: Mapping[str, Path]) -> DataFrame:
    jvm = spark._jvm
    assert jvm is not None
    addresses = [jvm.org.apache.hadoop.fs.Path(f"file://{path}").toUri().toString() for path in directories.values()]
    return spark.createDataFrame(pa.table({_DIRECTORY: addresses, "run": list(directories)}))
