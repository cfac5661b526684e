"""Values of claims as people read them: three significant digits, with the unit of the metric where a measure has one."""

from __future__ import annotations

import re

from brokerlab.model.metrics import METRICS
from brokerlab.model.quantities import format_value

_WITH_UNIT = re.compile(
    r"\s*(level|overhead|bucketed)\(.*?,\s*(\w+)\s*(?:,[^,]*)?\)\s*"
)  # all others are ratios or ranks
_NUMBER = re.compile(r"-?[0-9][0-9_.]*")
_SCALED = ("ns", "1/s", "B/s")  # printed as ms, k/s or MB/s


def unit_of(measure: str) -> str:
    """The unit of one measure as written: `ns` of level(a, publish_latency_p99_ns), empty of ratio(a, b, sent_per_s)."""
    found = _WITH_UNIT.fullmatch(measure)
    metric = METRICS.get(found[2]) if found else None
    return metric.unit if metric is not None and metric.unit != "1" else ""


def number(value: float) -> str:
    """Three significant digits, as in 1.36 or 23,400; three decimals near 1, where a share of a per cent matters."""
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    if 0.9 <= size < 1.1:
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return f"{value:.3g}"


def quantity(value: float, unit: str) -> str:
    """36 ms of 36_010_309 ns; a plain number where there is no unit."""
    if unit in _SCALED:
        return format_value(value, unit)
    return f"{number(value)} {unit}".strip()


def range_text(text: str, unit: str) -> str:
    """A range as written with its numbers as quantities: `at least 1 s` of `at least 1_000_000_000`."""
    if not unit:
        return text
    return _NUMBER.sub(lambda found: quantity(float(found[0].replace("_", "")), unit), text)
