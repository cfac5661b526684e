"""SQL over the lake's tables, read-only: DuckDB where it is installed and the lake is on this machine, else
Spark."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from brokerlab.errors import UserError
from brokerlab.lake.reading import Lake
from brokerlab.lake.store import LocalStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILES_AS_TABLES = "spark.sql.runSQLOnFiles"  # SELECT ... FROM csv.`path`
READS = ("select", "with", "values")


def query(lake: Lake, sql: str, session: Callable[[], AbstractContextManager[SparkSession]]) -> pa.Table:
    """The answer to one SELECT. UserError for SQL that is wrong or does more than read."""
    if sql.split(None, 1)[:1] == [] or sql.split(None, 1)[0].lower().lstrip("(") not in READS:
        raise _only_reads(sql)
    if isinstance(lake.store, LocalStore) and importlib.util.find_spec("duckdb") is not None:
        return by_duckdb(lake, sql)
    with session() as spark:
        return by_spark(lake, sql, spark)


def by_duckdb(lake: Lake, sql: str) -> pa.Table:
    """DuckDB sees the lake's tables and nothing else: it may not open files."""
    import duckdb

    with duckdb.connect() as connection:
        try:
            statements = connection.extract_statements(sql)
            if [s.type for s in statements] != [duckdb.StatementType.SELECT]:
                raise _only_reads(sql)
            for name in lake.tables():
                connection.register(name, lake.dataset(name))
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            return connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise _wrong(lake, str(error)) from error


def by_spark(lake: Lake, sql: str, spark: SparkSession) -> pa.Table:
    """The same answer from Spark, which may open no files either; its tables are views for as long as the session lives."""
    from pyspark.errors import (
        AnalysisException,
        ArithmeticException,
        DateTimeException,
        NumberFormatException,
        ParseException,
        SparkRuntimeException,
    )

    wrong = (
        AnalysisException, ArithmeticException, DateTimeException, NumberFormatException, ParseException,
        SparkRuntimeException,
    )  # fmt: skip
    before = spark.conf.get(_FILES_AS_TABLES)
    spark.conf.set(_FILES_AS_TABLES, "false")
    try:
        if _inserts(spark, sql):
            raise _only_reads(sql)
        for name in lake.tables():
            lake.frame(name, spark).createOrReplaceTempView(name)
        return spark.sql(sql).toArrow()
    except wrong as error:
        raise _wrong(lake, str(error)) from error
    finally:
        spark.conf.set(_FILES_AS_TABLES, before or "true")


def _inserts(spark: SparkSession, sql: str) -> bool:
    """Whether a statement that begins like a SELECT writes: WITH ... INSERT."""
    internals: Any = spark
    plan = internals._jsparkSession.sessionState().sqlParser().parsePlan(sql)
    if plan.getClass().getSimpleName() == "UnresolvedWith":
        plan = plan.child()
    return bool(plan.getClass().getSimpleName().startswith("Insert"))


def _only_reads(sql: str) -> UserError:
    return UserError(f"a query must be one SELECT, given {sql[:80]!r}", hint="the lake is changed by lake add alone")


def _wrong(lake: Lake, said: str) -> UserError:
    first = said.strip().splitlines()[0] if said.strip() else "the query failed"
    return UserError(f"the query cannot be answered: {first}", hint=f"tables: {', '.join(lake.tables())}")
