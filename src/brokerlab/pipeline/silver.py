"""Bronze to silver: rows that can be used, and the rest with the reason. Nothing is dropped in silence."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from brokerlab.evidence.tables import MEASURES
from brokerlab.model.histogram import SUB_BUCKET_BITS
from brokerlab.model.plan import Phase, Role
from brokerlab.model.tables import Table
from brokerlab.pipeline.schema import declared
from brokerlab.results.tables import QUARANTINED_ROW

OUTCOMES = ("sent", "acknowledged", "rejected", "unknown")
MAY_BE_NEGATIVE = {"first_position", "last_position", "first_mono_ns", "last_mono_ns", "at_mono_ns"}


@dataclass(frozen=True)
class Silver:
    """One evidence table, checked. `rows` and `quarantined` together are all that came in."""

    rows: DataFrame
    quarantined: DataFrame


def validated(bronze: DataFrame, table: Table, executions: list[str]) -> Silver:
    """Split `bronze` (rows of `table`) by the rules below. `executions` are the planned ones ("c01-r1")."""
    rules = _rules(table, executions)
    reasons = sf.array_compact(
        sf.array(*[sf.when(sf.coalesce(broken, sf.lit(True)), sf.lit(r)) for r, broken in rules])
    )
    judged = declared(bronze, table).withColumn("_reason", sf.array_join(reasons, "; ")).cache()
    bad = judged.where(sf.col("_reason") != "")
    return Silver(
        rows=declared(judged.where(sf.col("_reason") == ""), table),
        quarantined=declared(
            bad.select(
                sf.lit(table.name).alias("table"),
                sf.coalesce("cell", sf.lit("")).alias("cell"),
                sf.coalesce("repeat", sf.lit(0)).alias("repeat"),
                sf.col("_reason").alias("reason"),
                sf.to_json(sf.struct(*[sf.col(f"`{n}`") for n in table.names()])).alias("row"),
            ),
            QUARANTINED_ROW,
        ),
    )


def _rules(table: Table, executions: list[str]) -> list[tuple[str, Column]]:
    """(reason, condition that is true for a row to be set aside). A condition that is null counts as true."""
    names = set(table.names())
    rules = [(f"{c.name} is null", sf.col(c.name).isNull()) for c in table.columns if not c.nullable]
    if {"cell", "repeat"} <= names:
        execution = sf.concat(sf.col("cell"), sf.lit("-r"), sf.col("repeat").cast("string"))
        rules.append(("no such execution in the plan", ~execution.isin(executions)))
    if "phase" in names:
        rules.append(("unknown phase", ~sf.col("phase").isin([p.value for p in Phase])))
    if "role" in names:
        rules.append(("unknown role", ~sf.col("role").isin([r.value for r in Role])))
    if "outcome" in names and "first" in names:
        rules.append(("unknown outcome", ~sf.col("outcome").isin(list(OUTCOMES))))
    if {"first", "last"} <= names:
        rules.append(("first after last", sf.col("first") > sf.col("last")))
    if "elapsed_ns" in names:
        rules.append(("no time elapsed", sf.col("elapsed_ns") <= 0))
    rules += [
        (f"{c.name} is negative", sf.col(c.name) < 0)
        for c in table.columns
        if c.type in ("int", "long") and not c.nullable and c.name not in MAY_BE_NEGATIVE
    ]
    if "sub_bucket_bits" in names:
        rules.append((f"sub_bucket_bits is not {SUB_BUCKET_BITS}", sf.col("sub_bucket_bits") != SUB_BUCKET_BITS))
        rules += [rule for measure in MEASURES for rule in _histogram_rules(measure)]
    if table.name == "reading":
        rules.append(("value is not a number", sf.isnan("value")))
    return rules


def _histogram_rules(measure: str) -> list[tuple[str, Column]]:
    bucket, count = sf.col(f"{measure}_bucket"), sf.col(f"{measure}_count")
    return [
        (f"{measure}: bucket and count differ in length", sf.size(bucket) != sf.size(count)),
        (
            f"{measure}: negative bucket or count",
            sf.coalesce(sf.least(sf.array_min(bucket), sf.array_min(count)) < 0, sf.lit(False)),
        ),
    ]
