"""Declared tables as Spark schemas: every transformation begins and ends in a `select` of one."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from brokerlab.model.tables import Table

_TYPES: dict[str, DataType] = {
    "string": StringType(),
    "int": IntegerType(),
    "long": LongType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
    "array<int>": ArrayType(IntegerType(), containsNull=False),
    "array<long>": ArrayType(LongType(), containsNull=False),
    "array<double>": ArrayType(DoubleType(), containsNull=False),
}


def spark_schema(table: Table) -> StructType:
    """The columns of `table` in order."""
    return StructType([StructField(c.name, _TYPES[c.type], c.nullable) for c in table.columns])


def declared(frame: DataFrame, table: Table) -> DataFrame:
    """`frame` with exactly the columns of `table`, in order and of the declared types. A missing column is an error."""
    return frame.select(*[sf.col(f"`{c.name}`").cast(_TYPES[c.type]).alias(c.name) for c in table.columns])


def empty(spark: SparkSession, table: Table) -> DataFrame:
    """No rows of `table`."""
    return spark.createDataFrame([], spark_schema(table))
