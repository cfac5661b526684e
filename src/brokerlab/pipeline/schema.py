"""Declared tables as Spark schemas: every transformation begins and ends in a `select` of one."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Table

_TYPES: dict[str, DataType] = {
    "string": StringType(),
    "int": IntegerType(),
    "long": LongType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
    "binary": BinaryType(),
    "array<int>": ArrayType(IntegerType()),
    "array<long>": ArrayType(LongType()),
    "array<double>": ArrayType(DoubleType()),
}


@cache
def spark_schema(table: Table) -> StructType:
    """The computed columns of `table` in order. All nullable: files and outer joins are; the silver layer refuses nulls."""
    return StructType([StructField(c.name, _TYPES[c.type]) for c in table.computed().columns])


def declared(frame: DataFrame, table: Table) -> DataFrame:
    """A select of exactly the computed columns of `table`, in order and of the declared types. A missing one is an error."""
    return frame.to(spark_schema(table))


def with_defaults(frame: DataFrame, table: Table, names: Collection[str]) -> DataFrame:
    """The frame with the declared default in each of the named columns."""
    defaults = {
        c.name: (sf.array() if c.default == () else sf.lit(c.default)).cast(_TYPES[c.type])
        for c in table.columns
        if c.name in names
    }
    return frame.withColumns(defaults) if defaults else frame


def empty(spark: SparkSession, table: Table) -> DataFrame:
    """No rows of `table`."""
    return declared(spark.createDataFrame(arrow_schema(table.computed()).empty_table()), table)
