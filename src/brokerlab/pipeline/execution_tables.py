"""The tables of one execution, each a function of its evidence: the one list of them. Runs in Spark's workers.

A new table by second is one entry here and its declaration in results/tables.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.evidence.tables import ACTIVITY, INTERVAL, READING
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Table
from brokerlab.pipeline import agents, latency, rates, readings, steadiness
from brokerlab.results import tables as result

STRANGE = "strange"  # no table of its own: deliveries that belong to no message, by group


class ExecutionRows:
    """The evidence of one execution as `scan` reduced it, and what several tables are made of, each made once."""

    def __init__(self, found: Mapping[str, pa.Table]) -> None:
        self._found = found

    @cached_property
    def activity(self) -> pa.Table:
        return self._rows("activity", ACTIVITY)

    @cached_property
    def reading(self) -> pa.Table:
        return self._rows("reading", READING)

    @cached_property
    def rate(self) -> pa.Table:
        return rates.rate_per_second(self.activity, self._rows("due", INTERVAL))

    @cached_property
    def delays(self) -> pa.Table:
        """Send delays of the measure phase, merged by agent."""
        return self._rows("delays", latency.merged_table(agents.AGENT_KEY))

    @cached_property
    def per_second(self) -> pa.Table:
        """Latencies merged by second."""
        rows = self._rows("per_second", latency.merged_table(latency.SECOND_KEY))
        return latency.merging(latency.SECOND_KEY)(rows)

    @cached_property
    def per_phase(self) -> pa.Table:
        """Latencies merged by phase."""
        return latency.merging(latency.PHASE_KEY)(self.per_second)

    @cached_property
    def latency_per_second(self) -> pa.Table:
        return latency.latency_per_second(self.per_second)

    def _rows(self, name: str, table: Table) -> pa.Table:
        found = self._found.get(name)
        return pa.schema([(f.name, f.type) for f in arrow_schema(table)]).empty_table() if found is None else found


EXECUTION_TABLES: tuple[tuple[Table, Callable[[ExecutionRows], pa.Table]], ...] = (
    (result.RATE_PER_SECOND, lambda of: of.rate),
    (result.LATENCY_PER_SECOND, lambda of: of.latency_per_second),
    (result.LATENCY_PER_PHASE, lambda of: latency.latency_per_phase(of.per_phase)),
    (result.LATENCY_HISTOGRAM, lambda of: latency.latency_histogram(of.per_phase)),
    (result.LATENCY_HEAT, lambda of: latency.latency_heat(of.per_second)),
    (result.STEADINESS, lambda of: steadiness.steadiness(of.rate, of.latency_per_second)),
    (result.AGENT_HEALTH, lambda of: agents.agent_health(of.activity, of.delays)),
    (result.READING_PER_SECOND, lambda of: readings.reading_per_second(of.reading, of.rate)),
)


def execution_tables(found: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Every table of the list by name, with declared columns and types, and STRANGE."""
    of = ExecutionRows(found)
    made = {table.name: as_computed(make(of), table) for table, make in EXECUTION_TABLES}
    return made | {STRANGE: strange(of.activity)}


def as_computed(rows: pa.Table, table: Table) -> pa.Table:
    """Exactly the computed columns of `table`, in order and of the declared types. A missing one is an error."""
    schema = arrow_schema(table.computed()).remove_metadata()
    return rows.select(schema.names).cast(schema)


def strange(activity: pa.Table) -> pa.Table:
    """(cell, repeat, group, corrupted, strange): deliveries that are damaged, and those that are not of this run."""
    consumers = activity.filter(pc.equal(activity["role"], "consumer"))
    found = consumers.group_by(["cell", "repeat", "group"], use_threads=False).aggregate(
        [("corrupted", "sum"), ("unexpected", "sum")]
    )
    return found.rename_columns({"corrupted_sum": "corrupted", "unexpected_sum": STRANGE})
