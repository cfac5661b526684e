"""Where our own lateness is a visible part of a latency: the figure is then a range, without it and with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from brokerlab.model.metrics import WITHOUT_LATENESS
from brokerlab.model.quantiles import QUANTILES

SHOWN_SHARE = 0.05  # of the figure without our lateness


@dataclass(frozen=True)
class LatencyRange:
    """A figure of run_summary: its row, and the median of the same latency without our own lateness."""

    row: Mapping[str, Any]
    without_ns: float


def latency_ranges(summary: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], LatencyRange]:
    """By (cell, metric), the headline's latencies that our own lateness raises by more than SHOWN_SHARE. Runs of 0.1.0 have
    no latencies without it, and none of these."""
    of = {(row["cell"], row["metric"]): row for row in summary}
    found = {}
    for (cell, metric), row in of.items():
        for measure, without in WITHOUT_LATENESS.items():
            for q in QUANTILES:
                other = of.get((cell, f"{without}_{q.key}"))
                if q.headline and metric == f"{measure}_{q.key}" and other is not None:
                    bare = other["median"]
                    if row["median"] > (1 + SHOWN_SHARE) * bare:
                        found[cell, metric] = LatencyRange(row, bare)
    return found
