from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from brokerlab.errors import MeasurementError
from brokerlab.evidence.segments import segments
from brokerlab.evidence.tables import ACTIVITY, INTERVAL, OUTCOME, SEQUENCE
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Table
from brokerlab.pipeline.gold import check_counts
from brokerlab.pipeline.rules import judged
from brokerlab.pipeline.scan import Chunk, quarantined
from brokerlab.pipeline.silver import REASON, judged_rows, rules
from synthetic import write_run

BROKEN: list[tuple[Table, dict[str, Any], str]] = [
    (INTERVAL, {"phase": "lunch"}, "unknown phase"),
    (INTERVAL, {"sent": -1}, "a counter is negative"),
    (INTERVAL, {"sub_bucket_bits": 5}, "sub_bucket_bits is not 7"),
    (INTERVAL, {"send_delay_bucket": [1, 2], "send_delay_count": [1]}, "send_delay: bucket and count differ in length"),
    (INTERVAL, {"send_delay_bucket": [1], "send_delay_count": [-1]}, "send_delay: negative bucket or count"),
    (INTERVAL, {"cell": "c77"}, "no such execution in the plan"),
    (SEQUENCE, {"first": 9, "last": 3}, "first after last"),
    (OUTCOME, {"outcome": "maybe"}, "unknown outcome"),
    (ACTIVITY, {"role": "spectator"}, "unknown role"),
    (ACTIVITY, {"elapsed_ns": 0}, "no time elapsed"),
    (ACTIVITY, {"role": None}, "a value is missing; unknown role"),
    (ACTIVITY, {"sent": None}, "a value is missing; a counter is negative"),
    (ACTIVITY, {"repeat": None}, "a value is missing; no such execution in the plan; a counter is negative"),
    (
        INTERVAL,
        {"send_delay_bucket": None},
        "a value is missing; send_delay: bucket and count differ in length",
    ),
    (OUTCOME, {"first": None}, "a value is missing; first after last; a counter is negative"),
]


@pytest.fixture(scope="module")
def one_row(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """A good row of each table."""
    run = write_run(tmp_path_factory.mktemp("silver") / "run").directory.path
    return {
        t.name: pq.read_table(segments(run, t)[0][0].path).to_pylist()[0]
        for t in (INTERVAL, SEQUENCE, OUTCOME, ACTIVITY)
    }


@pytest.mark.parametrize("table", [INTERVAL, SEQUENCE, OUTCOME, ACTIVITY], ids=lambda t: t.name)
def test_rows_that_break_a_rule_are_set_aside_with_it(
    spark: SparkSession, one_row: dict[str, dict[str, Any]], table: Table
) -> None:
    good = one_row[table.name]
    cases = [(change, reason) for t, change, reason in BROKEN if t is table]
    rows = [good, *[good | change for change, _ in cases]]
    reasons = [reason for _, reason in cases]
    aside = _set_aside(rows, table)
    assert [r["reason"] for r in aside] == reasons
    assert {r["table"] for r in aside} == {table.name}
    assert all('"agent":"' in r["row"] for r in aside)
    by_sql = judged_rows(spark.createDataFrame(_arrow(rows, table)), table, ["c01-r1"])
    assert [r[REASON] for r in by_sql.collect()] == ["", *reasons], "SQL and Arrow judge alike"


def _arrow(rows: list[dict[str, Any]], table: Table) -> Any:
    nullable = pa.schema([f.with_nullable(True) for f in arrow_schema(table)])
    return pa.Table.from_pylist(rows, nullable)


def _set_aside(rows: list[dict[str, Any]], table: Table) -> list[dict[str, Any]]:
    """Rows of quarantined_row as the analysis makes them: on columns, in Spark's workers."""
    chunk = Chunk(_arrow(rows, table), [("file", 0, len(rows))])
    good, bad = judged(chunk.rows, rules(table, ["c01-r1"]))
    assert len(good) == 1
    made: list[dict[str, Any]] = quarantined(table, chunk, bad).to_pylist()
    assert {row["file"] for row in made} == {"file"}
    return made


def test_a_row_that_is_set_aside_is_found_again_in_its_file() -> None:
    rows = pa.table({"first": range(10)})
    chunk = Chunk(rows, [("a", 0, 3), ("b", 100, 5), ("c", 0, 2)])
    places = {0: ("a", 0), 2: ("a", 2), 3: ("b", 100), 7: ("b", 104), 8: ("c", 0), 9: ("c", 1)}
    assert {row: chunk.origin(row) for row in places} == places


def test_a_row_that_breaks_two_rules_names_both(spark: SparkSession, one_row: dict[str, dict[str, Any]]) -> None:
    rows = [one_row["sequence"] | {"first": 9, "last": -3}]
    (row,) = judged_rows(spark.createDataFrame(_arrow(rows, SEQUENCE)), SEQUENCE, ["c01-r1"]).collect()
    assert row[REASON] == "first after last; a counter is negative"


def test_rows_that_vanish_between_layers_are_an_error() -> None:
    check_counts({"a": 3}, [{"table": "a", "good": 1, "set_aside": 0}, {"table": "a", "good": 1, "set_aside": 1}])
    with pytest.raises(MeasurementError, match="a: 3 rows in files, 2 after checking"):
        check_counts({"a": 3}, [{"table": "a", "good": 2, "set_aside": 0}])
