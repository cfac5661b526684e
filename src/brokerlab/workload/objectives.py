"""Objectives as written (`p99(end_to_end_latency) < 20ms`, `lost == 0`, `throughput >= 10_000/s`) to checked ones."""

from __future__ import annotations

import difflib
import re

from brokerlab.model.metrics import MEASURES, OF_DELIVERIES
from brokerlab.model.plan import Objective
from brokerlab.model.quantities import parse_duration_ns, parse_number, parse_rate_per_s

COUNTS = ("rejected", "unknown", "lost", "duplicated", "redelivered", "reordered", "corrupted", "unexpected")
RATES = ("throughput",)
NEED_CONSUMERS = (*OF_DELIVERIES, "lost", "duplicated", "redelivered", "reordered", "corrupted", "unexpected")

OBJECTIVE_PATTERN = r"^\s*(?:(max|p[0-9]+(?:\.[0-9]+)?)\s*\(\s*(\w+)\s*\)|(\w+))\s*(<=|>=|==|<|>)\s*(\S.*?)\s*$"
_OBJECTIVE = re.compile(OBJECTIVE_PATTERN)


class ObjectiveError(ValueError):
    """What is wrong with an objective, and the name that was probably meant."""

    def __init__(self, message: str, nearest: str | None = None) -> None:
        super().__init__(message)
        self.nearest = nearest


def parse_objective(text: str) -> Objective:
    """Limits of latencies become nanoseconds, of throughput messages a second. Raises ObjectiveError."""
    match = _OBJECTIVE.match(text)
    if match is None:
        raise ObjectiveError("must look like `p99(end_to_end_latency) < 20ms`, `lost == 0` or `throughput >= 10_000/s`")
    quantile_text, of, alone, comparison, limit_text = match.groups()
    measure = of or alone
    known = MEASURES if of else (*COUNTS, *RATES)
    if measure not in known:
        if measure in MEASURES:
            raise ObjectiveError(f"needs a quantile, such as p99({measure})", f"p99({measure})")
        if measure in (*COUNTS, *RATES):
            raise ObjectiveError(f"{measure} has no quantiles", measure)
        near = difflib.get_close_matches(measure, (*MEASURES, *COUNTS, *RATES), n=1)
        raise ObjectiveError(f"{measure} is not measured; known: {', '.join(known)}", near[0] if near else None)
    try:
        limit = _limit(measure, limit_text)
    except ValueError as error:
        raise ObjectiveError(f"the limit {limit_text!r} {error}") from None
    return Objective.model_validate(
        {
            "text": " ".join(text.split()),
            "measure": measure,
            "quantile": _quantile(quantile_text) if quantile_text else None,
            "comparison": comparison,
            "limit": limit,
        }
    )


def _limit(measure: str, text: str) -> float:
    if measure in MEASURES:
        return parse_duration_ns(text)
    return parse_rate_per_s(text) if measure in RATES else parse_number(text)


def _quantile(text: str) -> float:
    if text == "max":
        return 1.0
    percent = float(text[1:])
    if not 0 < percent <= 100:
        raise ObjectiveError(f"{text} is not a percentile: use p50, p99, p99.9 or max")
    return round(percent / 100, 12)
