"""Figures and tables as people read them in a terminal. Pure functions from values to strings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click


def print_json(value: Any) -> None:
    """The result, on stdout, as one JSON document."""
    click.echo(json.dumps(value, indent=2, default=str))


def count_text(value: float) -> str:
    """20,000 or 0.4: thousands separated, decimals only where they matter."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.2g}"


_LATENCY_UNITS_NS = {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1.0}


def latency_unit(values_ns: Sequence[float | None]) -> str:
    """One unit for all: the smallest value keeps its figures, unless the largest would then have six digits."""
    known = [v for v in values_ns if v]
    if not known:
        return "ns"
    fits = [u for u, size in _LATENCY_UNITS_NS.items() if min(known) >= size * 0.9995] or ["ns"]
    short = [u for u, size in _LATENCY_UNITS_NS.items() if max(known) < size * 1e5] or ["s"]
    return max(fits[0], short[-1], key=_LATENCY_UNITS_NS.__getitem__)


def latency_number(value_ns: float, unit: str) -> str:
    """About three significant figures, without the unit: 0.812, 1.23, 12.3, 1,234."""
    x = value_ns / _LATENCY_UNITS_NS[unit]
    if unit == "ns" or x >= 99.95 or x == 0:
        return f"{x:,.0f}"
    return f"{x:.1f}" if x >= 9.995 else f"{x:.2f}" if x >= 0.9995 else f"{x:.3f}"


def latency_text(value_ns: float) -> str:
    """In the unit that fits: 850 µs, 1.23 ms, 2.10 s."""
    unit = latency_unit([value_ns])
    return f"{latency_number(value_ns, unit)} {unit}"


def bytes_text(value: float) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.0f} B"


def duration_text(seconds: float) -> str:
    """42 s, 3 min 20 s, 2 h 5 min."""
    s = round(seconds)
    if s < 60:
        return f"{s} s"
    if s < 3600:
        return f"{s // 60} min {s % 60} s" if s % 60 else f"{s // 60} min"
    return f"{s // 3600} h {s % 3600 // 60} min"


def aligned(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), gap: int = 2) -> list[str]:
    """Rows as lines with columns under each other; column numbers in `right` are aligned to the right."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        (" " * gap)
        .join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        .rstrip()
        for row in rows
    ]
