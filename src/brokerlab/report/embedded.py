"""Tables as our scripts read them: JSON by columns, each column plain or as runs of equal values."""

from __future__ import annotations

import math
from typing import Any

from brokerlab.model.metrics import FROM_SCHEDULE, MEASURE_TABLE
from brokerlab.report.source import Source, TableData
from brokerlab.results.tables import RESULT_TABLES

CELLS_WITH_DATA = 24  # beyond this many cells the page would grow past what a browser opens at ease; the page says so
# Many rows that no script draws: the run directory has them, and `brokerlab export`.
NOT_EMBEDDED = frozenset({"latency_spectrum", "minute_rate"})


def embedded_tables(source: Source) -> dict[str, TableData]:
    return {name: table for name, table in source.tables.items() if name not in NOT_EMBEDDED}


def embedded_cells(source: Source) -> tuple[str, ...]:
    """The cells whose rows are in the page."""
    return source.cells()[:CELLS_WITH_DATA]


def page_data(source: Source) -> dict[str, Any]:
    """What the scripts need: cells with their labels, the measures they draw, and the rows of those cells."""
    cells = embedded_cells(source)
    return {
        "run": source.run,
        "cells": [{"cell": c, "label": source.label(c)} for c in cells],
        "measures": [
            {"key": m.key, "words": m.words, "short": m.short} for m in MEASURE_TABLE if m.key in FROM_SCHEDULE
        ],
        "tables": {name: _encoded(name, table, set(cells)) for name, table in embedded_tables(source).items()},
    }


def _encoded(name: str, table: TableData, cells: set[str]) -> dict[str, Any]:
    order = _order(table, cells)
    declared = {c.name: c for c in RESULT_TABLES[name].columns}
    return {
        "meaning": RESULT_TABLES[name].meaning,
        "rows": len(order),
        "columns": [
            {
                "name": n,
                "unit": declared[n].unit,
                "meaning": declared[n].meaning,
                **encoded_column([values[i] for i in order]),
            }
            for n, values in table.columns.items()
        ],
    }


def _order(table: TableData, cells: set[str]) -> list[int]:
    """Numbers of the rows to keep, sorted by the naming columns so that equal values stand together. A table that does
    not name cells is kept whole."""
    columns = table.columns
    owner = columns.get("cell", columns.get("cell_a"))
    keys = [
        columns[k] for k in ("cell", "repeat", "measure", "group", "subject", "metric", "second_unix_s") if k in columns
    ]
    kept = [i for i in range(len(table)) if owner is None or owner[i] in cells]
    return sorted(kept, key=lambda i: tuple(k[i] for k in keys))


def encoded_column(values: list[Any]) -> dict[str, Any]:
    """{"values": [...]} or, where that is shorter, {"runs": [value, how often, value, how often, ...]}."""
    plain = [_finite(v) for v in values]
    runs: list[Any] = []
    for value in plain:
        if runs and runs[-2] == value and type(runs[-2]) is type(value):
            runs[-1] += 1
        else:
            runs += [value, 1]
    return {"runs": runs} if len(runs) < len(plain) else {"values": plain}


def _finite(value: Any) -> Any:
    """JSON has no NaN or infinity: both become null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
