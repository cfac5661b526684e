"""SQL over the lake: DuckDB and Spark give the same answer, and neither writes."""

from __future__ import annotations

import pytest
from lake_runs import Place

from brokerlab.errors import UserError
from brokerlab.lake.query import by_duckdb, by_spark, query

BEST = "SELECT run, cell, metric, median FROM run_summary WHERE metric = 'sent_per_s' ORDER BY run, cell"


def test_duckdb_and_spark_give_the_same_answer(full: Place) -> None:
    found = by_duckdb(full.lake, BEST).to_pylist()
    assert len({row["run"] for row in found}) == 4
    assert by_spark(full.lake, BEST, full.spark).to_pylist() == found
    with pytest.raises(UserError, match="one SELECT"):
        by_spark(full.lake, "WITH a AS (SELECT 1 x) INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT * FROM a", full.spark)
    with pytest.raises(UserError, match="nothing_such"):
        by_spark(full.lake, "SELECT nothing_such FROM runs", full.spark)


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE runs",
        "",
        "SELECT 1; SELECT 2",
        "COPY runs TO 'x.csv'",
        "CREATE TABLE a AS SELECT 1",
        "SET threads = 1",
    ],
)
def test_anything_but_one_select_is_refused(place: Place, sql: str) -> None:
    with pytest.raises(UserError, match="one SELECT"):
        query(place.lake, sql, place.session)


def test_a_query_opens_no_other_files(place: Place) -> None:
    other = place.root / "other.csv"
    other.write_text("a\n1\n")
    with pytest.raises(UserError, match="cannot be answered"):
        query(place.lake, f"SELECT * FROM read_csv('{other}')", place.session)
    with pytest.raises(UserError, match="cannot be answered"):
        query(place.lake, f"SELECT * FROM '{other}'", place.session)


@pytest.mark.parametrize("form", ["text", "csv", "parquet", "json"])
def test_a_query_to_spark_opens_no_other_files_and_the_session_stays_as_it_was(full: Place, form: str) -> None:
    (other,) = full.lake.files("runs")[:1]
    found = full.spark.sql(f"SELECT * FROM {form}.`{other}`").schema
    with pytest.raises(UserError, match="cannot be answered"):
        by_spark(full.lake, f"SELECT * FROM {form}.`{other}`", full.spark)
    with pytest.raises(UserError, match="cannot be answered"):
        by_spark(full.lake, f"WITH a AS (SELECT * FROM {form}.`{other}`) SELECT r.run FROM runs r, a", full.spark)
    assert by_spark(full.lake, "SELECT count(*) AS n FROM runs", full.spark).to_pylist() == [{"n": 4}]
    assert full.spark.sql(f"SELECT * FROM {form}.`{other}`").schema == found


def test_what_spark_cannot_compute_is_an_error_of_the_query(full: Place) -> None:
    for sql in ("SELECT 1 / 0", "SELECT CAST('x' AS INT)", "SELECT raise_error('no')"):
        with pytest.raises(UserError, match="cannot be answered"):
            by_spark(full.lake, sql, full.spark)


def test_a_wrong_query_names_the_tables(place: Place) -> None:
    with pytest.raises(UserError, match="cannot be answered") as error:
        query(place.lake, "SELECT * FROM deliveries", place.session)
    assert "delivery" in (error.value.hint or "")
