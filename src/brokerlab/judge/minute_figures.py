"""Figures of the table `minute_rate`: the one-minute rates at the end of the measure phase."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from brokerlab.judge.course_figures import Bounds, Figures
from brokerlab.model.execution_id import ExecutionId

_COLUMNS = {"sent_one_minute_per_s": "one_minute_per_s", "broker_one_minute_per_s": "broker_one_minute_per_s"}


def minute_rates(rows: Iterable[Mapping[str, Any]], bounds: Bounds) -> Figures:
    """Of the last whole second of the measure phase."""
    found: Figures = defaultdict(dict)
    for row in rows:
        execution = ExecutionId.of(row)
        if row["series"] == "sent" and row["second_unix_s"] == bounds.get(execution, (0, -1))[1]:
            for metric, column in _COLUMNS.items():
                if row[column] is not None:
                    found[execution.cell, metric][execution.repeat] = row[column]
    return dict(found)
