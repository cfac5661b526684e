"""Bronze to silver: which rows can be used, and the reason for the rest. Nothing is dropped in silence.

The analysis judges columns in Spark's workers (`rules.judged`). Where only counts are wanted, of many runs at once, the same
rules are SQL text: one round trip to the JVM for a table's rules instead of hundreds.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from brokerlab.model.histogram import SUB_BUCKET_BITS
from brokerlab.model.metrics import MEASURES
from brokerlab.model.plan import Phase, Role
from brokerlab.model.tables import Table
from brokerlab.pipeline.rules import (
    ANumber,
    Equal,
    InOrder,
    NoNegativeElement,
    NotNegative,
    OneOf,
    Planned,
    Positive,
    Present,
    Rule,
    SameLength,
)
from brokerlab.pipeline.schema import declared

OUTCOMES = ("sent", "acknowledged", "rejected", "unknown")
MAY_BE_NEGATIVE = {"first_position", "last_position", "first_mono_ns", "last_mono_ns", "at_mono_ns"}
REASON = "_reason"


def judged_rows(bronze: DataFrame, table: Table, executions: list[str]) -> DataFrame:
    """`bronze` (rows of `table`) with the column REASON: which of the rules below a row breaks, empty for a good one.
    `executions` are the planned ones ("c01-r1")."""
    cases = ", ".join(
        f"CASE WHEN coalesce({rule.sql()}, true) THEN '{rule.reason}' END" for rule in rules(table, executions)
    )
    return declared(bronze, table).withColumn(REASON, sf.expr(f"array_join(array({cases}), '; ')"))


def rules(table: Table, executions: list[str]) -> list[Rule]:
    """What a row of `table` must keep."""
    names = set(table.names())
    found: list[Rule] = [Present("a value is missing", tuple(c.name for c in table.columns if not c.nullable))]
    if {"cell", "repeat"} <= names:
        found.append(Planned("no such execution in the plan", tuple(executions)))
    if "phase" in names:
        found.append(OneOf("unknown phase", "phase", tuple(p.value for p in Phase)))
    if "role" in names:
        found.append(OneOf("unknown role", "role", tuple(r.value for r in Role)))
    if table.name == "outcome":
        found.append(OneOf("unknown outcome", "outcome", OUTCOMES))
    if {"first", "last"} <= names:
        found.append(InOrder("first after last", "first", "last"))
    if "elapsed_ns" in names:
        found.append(Positive("no time elapsed", "elapsed_ns"))
    if table.name == "reading":
        found.append(ANumber("value is not a number", "value"))
    counters = tuple(
        c.name for c in table.columns if c.type in ("int", "long") and not c.nullable and c.name not in MAY_BE_NEGATIVE
    )
    if counters:
        found.append(NotNegative("a counter is negative", counters))
    if "sub_bucket_bits" in names:
        found.append(Equal(f"sub_bucket_bits is not {SUB_BUCKET_BITS}", "sub_bucket_bits", SUB_BUCKET_BITS))
        found += [rule for measure in MEASURES for rule in _histogram_rules(measure)]
    return found


def _histogram_rules(measure: str) -> list[Rule]:
    bucket, count = f"{measure}_bucket", f"{measure}_count"
    return [
        SameLength(f"{measure}: bucket and count differ in length", bucket, count),
        NoNegativeElement(f"{measure}: negative bucket or count", (bucket, count)),
    ]
