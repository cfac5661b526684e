"""The rows of the table of metrics that stacks read, grouped as their series are."""

from __future__ import annotations

from functools import cache

from brokerlab.model.watched import WatchedMetric
from brokerlab.monitor.table import bean_rows, systems

JVM_GROUP = "jvm"


@cache
def beans_by_group() -> dict[str, tuple[WatchedMetric, ...]]:
    """What beans tell: under "jvm" of any JVM, then of each broker that runs in one. Beans of single destinations are left
    out: their number is not known."""
    found = {JVM_GROUP: tuple(row for row, _ in bean_rows(""))}
    for system in systems():
        rows = tuple(row for row, _ in bean_rows(system) if row.scope == "broker")
        if rows:
            found[system] = rows
    return found
