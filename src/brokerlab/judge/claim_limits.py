"""Whether a driver of ours, not the system behind it, set the figures that a claim is judged by."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from brokerlab.judge.claim_measures import Figures
from brokerlab.model.claims import Claim, Part
from brokerlab.model.metrics import METRICS

if TYPE_CHECKING:
    from brokerlab.judge.claims import CellFacts

SATURATED = "agent_saturated"
NATIVE = "native"  # these paths are measured beside the vendors' own clients: docs/performance.md
# Clients that take so much of the servers' processor time for a message share the limit with them.
SHARE_OF_SERVERS = 0.9
WHOLE = ("client_cpu_us_per_message", "broker_cpu_us_per_message")
OF_BACKLOG = ("consumer_cpu_us_per_message", "backlog_broker_cpu_us_per_message")
METRICS_ASKED = (*WHOLE, *OF_BACKLOG)  # needed of every cell of a claim, besides what its measure names


@dataclass(frozen=True)
class HeldBack:
    """Cells of a part that a driver of ours may have held back, and how that is known of the first of them."""

    cells: frozenset[str] = frozenset()
    said: str = ""


def held_back(claim: Claim, part: Part, cells: Mapping[str, Sequence[CellFacts]], figures: Figures) -> HeldBack:
    """None where the claim expects it: because senders were the limit of the study too, or because its figure does not depend
    on it."""
    if SATURATED in claim.expects:
        return HeldBack()
    said: dict[str, str] = {}
    for cell in part.cells:
        for facts in cells.get(cell, ()):
            path = facts.facts.get("driver_path", "")
            why = facts.saturation() or ("" if path.startswith(NATIVE) else _takes_as_much(part, cell, figures))
            if facts.finished and why:
                driver = f"its driver ({path})" if path else "its driver"
                said.setdefault(cell, f"{cell}: {driver} is brokerlab's own and may be the limit: {why}")
    return HeldBack(frozenset(said), next(iter(said.values()), ""))


def holds_anyway(part: Part, cells: frozenset[str], low: float, high: float) -> bool:
    """Whether the interval would be where it is, inside or outside of what the claim asks for, with drivers that hold nothing
    back. They could only raise the rates of these cells: so it is made as wide as that may make it."""
    metric = METRICS.get(part.metric)
    if part.kind not in ("ratio", "level") or metric is None or metric.unit not in ("1/s", "B/s"):
        return False
    above, *below = part.cells
    widest = (0.0 if set(below) & cells else low, sys.float_info.max if above in cells else high)
    return part.bound.place(*widest) == part.bound.place(low, high) != "across"


def _takes_as_much(part: Part, cell: str, figures: Figures) -> str:
    """Of a cell that goes as fast as it can: what clients and servers take for a message, where that is about as much."""
    of_backlog = part.metric.startswith("backlog_")
    if cell in figures.configured and not of_backlog:
        return ""
    ours, theirs = (list(figures.of(name, cell).values()) for name in (OF_BACKLOG if of_backlog else WHOLE))
    if not ours or not theirs or median(ours) < SHARE_OF_SERVERS * median(theirs):
        return ""
    who = "consumers" if of_backlog else "clients"
    return f"{who} took {median(ours):.3g} µs of processor time for a message, the servers {median(theirs):.3g} µs"
