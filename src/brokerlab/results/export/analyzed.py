"""What exports are made of: an analyzed run, read once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from brokerlab.model.plan import RunPlan
from brokerlab.model.tables import Table
from brokerlab.results.directory import RunDirectory
from brokerlab.results.reader import read_table, read_verdict
from brokerlab.results.tables import RUN_SUMMARY
from brokerlab.results.verdict import Verdict


@dataclass(frozen=True)
class AnalyzedRun:
    """NotFoundError on the first look at the verdict where the run has not been analyzed."""

    directory: RunDirectory

    @cached_property
    def plan(self) -> RunPlan:
        return self.directory.plan()

    @cached_property
    def verdict(self) -> Verdict:
        return read_verdict(self.directory)

    def table(self, table: Table) -> pa.Table:
        """All rows. `run` holds the run's name also where 0.1.0, which did not write it, made the table."""
        found = read_table(self.directory, table)
        if "run" not in found.column_names or len(found) == 0:
            return found
        place = found.column_names.index("run")
        names = pa.array([self.plan.run] * len(found), found.schema.field(place).type)
        return found.set_column(place, found.schema.field(place), names)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table(table).to_pylist()
        return rows

    @cached_property
    def summary(self) -> list[dict[str, Any]]:
        return self.rows(RUN_SUMMARY)
