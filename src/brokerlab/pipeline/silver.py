"""Bronze to silver: rows that can be used, and the rest with the reason. Nothing is dropped in silence.

Rules are SQL text: one round trip to the JVM for a table's rules instead of hundreds, which is seconds of a short run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from brokerlab.model.histogram import SUB_BUCKET_BITS
from brokerlab.model.metrics import MEASURES
from brokerlab.model.plan import Phase, Role
from brokerlab.model.tables import Table
from brokerlab.pipeline.schema import declared
from brokerlab.results.tables import QUARANTINED_ROW

OUTCOMES = ("sent", "acknowledged", "rejected", "unknown")
MAY_BE_NEGATIVE = {"first_position", "last_position", "first_mono_ns", "last_mono_ns", "at_mono_ns"}
_REASON = "_reason"


@dataclass(frozen=True)
class Silver:
    """One evidence table, checked: every row of it with the reason to set it aside, empty for good ones."""

    table: Table
    judged: DataFrame

    @property
    def rows(self) -> DataFrame:
        return declared(self.judged.where(f"{_REASON} = ''"), self.table)

    @property
    def quarantined(self) -> DataFrame:
        """The rows set aside, as rows of quarantined_row."""
        columns = ", ".join(f"`{name}`" for name in self.table.names())
        bad = self.judged.where(f"{_REASON} != ''").selectExpr(
            f"'{self.table.name}' AS table", "coalesce(cell, '') AS cell", "coalesce(repeat, 0) AS repeat",
            f"{_REASON} AS reason", f"to_json(struct({columns})) AS row",
        )  # fmt: skip
        return declared(bad, QUARANTINED_ROW)

    def counted(self) -> DataFrame:
        """(table, good, cell, repeat, group) of every row, null where the table has no such column."""
        of = ("cell", "repeat", "group")
        present = [f"`{name}`" if name in self.table.names() else f"NULL AS `{name}`" for name in of]
        return self.judged.selectExpr(f"'{self.table.name}' AS table", f"{_REASON} = '' AS good", *present)


def validated(bronze: DataFrame, table: Table, executions: list[str]) -> Silver:
    """Judge `bronze` (rows of `table`) by the rules below. `executions` are the planned ones ("c01-r1")."""
    cases = ", ".join(
        f"CASE WHEN coalesce({broken}, true) THEN '{reason}' END" for reason, broken in rules(table, executions)
    )
    reason = sf.expr(f"array_join(array({cases}), '; ')")
    return Silver(table, declared(bronze, table).withColumn(_REASON, reason))


def rules(table: Table, executions: list[str]) -> list[tuple[str, str]]:
    """(reason, SQL condition that is true for a row to be set aside). A condition that is null counts as true."""
    names = set(table.names())
    required = [f"`{c.name}`" for c in table.columns if not c.nullable]
    found = [("a value is missing", " OR ".join(f"{name} IS NULL" for name in required))]
    if {"cell", "repeat"} <= names:
        found.append(("no such execution in the plan", f"concat(cell, '-r', repeat) NOT IN ({_quoted(executions)})"))
    if "phase" in names:
        found.append(("unknown phase", f"phase NOT IN ({_quoted([p.value for p in Phase])})"))
    if "role" in names:
        found.append(("unknown role", f"role NOT IN ({_quoted([r.value for r in Role])})"))
    if table.name == "outcome":
        found.append(("unknown outcome", f"outcome NOT IN ({_quoted(OUTCOMES)})"))
    if {"first", "last"} <= names:
        found.append(("first after last", "`first` > `last`"))
    if "elapsed_ns" in names:
        found.append(("no time elapsed", "elapsed_ns <= 0"))
    if table.name == "reading":
        found.append(("value is not a number", "isnan(value)"))
    counters = [
        f"`{c.name}`"
        for c in table.columns
        if c.type in ("int", "long") and not c.nullable and c.name not in MAY_BE_NEGATIVE
    ]
    found.append(("a counter is negative", " OR ".join(f"{c} < 0" for c in counters)))
    if "sub_bucket_bits" in names:
        found.append((f"sub_bucket_bits is not {SUB_BUCKET_BITS}", f"sub_bucket_bits != {SUB_BUCKET_BITS}"))
        found += [rule for measure in MEASURES for rule in _histogram_rules(measure)]
    return [(reason, broken) for reason, broken in found if broken]


def _histogram_rules(measure: str) -> list[tuple[str, str]]:
    bucket, count = f"{measure}_bucket", f"{measure}_count"
    return [
        (f"{measure}: bucket and count differ in length", f"size({bucket}) != size({count})"),
        (
            f"{measure}: negative bucket or count",
            f"coalesce(least(array_min({bucket}), array_min({count})) < 0, false)",
        ),
    ]


def _quoted(words: Iterable[str]) -> str:
    """Words as SQL strings; the plan's names have no quotes, and any that did would not match evidence either."""
    return ", ".join("'" + word.replace("'", "") + "'" for word in words)
