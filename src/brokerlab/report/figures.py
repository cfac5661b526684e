"""Numbers as people read them: three significant digits, thousands separated, the unit always there."""

from __future__ import annotations

import math

from brokerlab.model.metrics import METRICS

ABSENT = "–"

_DURATIONS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def significant(value: float, digits: int = 3) -> str:
    """`value` with at least `digits` significant digits and no more decimals than they need: 12.3, 0.0456, 1,234."""
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    rounded = round(value, decimals)
    if rounded:  # 9.996 becomes 10.0, not 10.00
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{decimals}f}"


def count(value: float | None) -> str:
    return ABSENT if value is None or not _finite(value) else f"{value:,.0f}"


def duration(ns: float | None) -> str:
    """Nanoseconds as 12.3 ms. Ninety seconds and more as 1.50 min."""
    if ns is None or not _finite(ns):
        return ABSENT
    if ns == 0:
        return "0 ns"
    if abs(ns) >= 90e9:
        return f"{significant(ns / 60e9)} min"
    for size, unit in _DURATIONS:
        if abs(ns) >= size * 0.9995:
            return f"{significant(ns / size)} {unit}"
    return f"{significant(ns)} ns"


def rate(per_s: float | None) -> str:
    return ABSENT if per_s is None or not _finite(per_s) else f"{significant(per_s)}/s"


def size(value_bytes: float | None) -> str:
    if value_bytes is None or not _finite(value_bytes):
        return ABSENT
    for step, unit in _SIZES:
        if abs(value_bytes) >= step:
            return f"{significant(value_bytes / step)} {unit}"
    return f"{value_bytes:,.0f} B"


def percent(share: float | None) -> str:
    """0.9973 as 99.7 %. What is short of the whole never reads as 100 %."""
    if share is None or not _finite(share):
        return ABSENT
    text = f"{share * 100:.1f}"
    if text == "100.0" and share < 1:
        text = "99.9"
    return f"{text} %"


def cores(value: float | None) -> str:
    return ABSENT if value is None or not _finite(value) else f"{value:.2f} cores"


def times(ratio: float) -> str:
    """1.25× or 1.013×: three decimals where two would hide the difference."""
    return f"{ratio:.3f}×" if 0.9 <= ratio < 1.1 else f"{ratio:.2f}×" if ratio < 100 else f"{ratio:,.0f}×"


def plural(number: int, noun: str) -> str:
    """1 repeat, 2 repeats."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def quantity(metric: str, value: float | None) -> str:
    """A value of a run_summary metric; the metric's name says the unit."""
    known = METRICS.get(metric)
    if known is not None and known.aspect == "rates" and known.unit in ("1", "µs", "B", "s"):
        return _ratio(value, known.unit)
    if metric.endswith("_ns"):
        return duration(value)
    if metric.endswith("bytes_per_s"):
        return ABSENT if value is None else f"{size(value)}/s"
    if metric.endswith("_per_s"):
        return rate(value)
    if metric.endswith("_cores"):
        return cores(value)
    return count(value)


def _ratio(value: float | None, unit: str) -> str:
    if value is None or not _finite(value):
        return ABSENT
    if unit == "s":
        return duration(value * 1e9)
    return size(value) if unit == "B" and value >= 1024 else f"{significant(value)} {unit}".removesuffix(" 1")


def reading(value: float | None, unit: str) -> str:
    """A value that a probe read, in the unit it was read in."""
    if value is None or not _finite(value):
        return ABSENT
    match unit:
        case "B":
            return size(value)
        case "B/s":
            return f"{size(value)}/s"
        case "s":
            return duration(value * 1e9)
        case "ms":
            return duration(value * 1e6)
        case "cores":
            return cores(value)
        case "1":
            return count(value) if value == int(value) else significant(value)
        case "1/s":
            return rate(value)
        case _:
            return f"{significant(value)} {unit}"


def metric_name(metric: str) -> str:
    """What people call a metric of run_summary: "end-to-end latency p99.9", "sent rate"."""
    known = METRICS.get(metric)
    words = known.words if known else metric.removesuffix("_per_s").replace("_", " ")
    return words + (" rate" if metric.endswith("_per_s") else "")
