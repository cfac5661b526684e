"""Whether a driver of ours, not the system behind it, set the figures that a claim is judged by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from brokerlab.judge.claim_measures import Figures
from brokerlab.model.claims import Claim, Part

if TYPE_CHECKING:
    from brokerlab.judge.claims import CellFacts

SATURATED = "agent_saturated"
NATIVE = "native"  # these paths are measured beside the vendors' own clients: docs/performance.md
SHARE_OF_SERVERS = (
    0.9  # clients that take so much of the servers' processor time for a message share the limit with them
)
WHOLE = ("client_cpu_us_per_message", "broker_cpu_us_per_message")
OF_BACKLOG = ("consumer_cpu_us_per_message", "backlog_broker_cpu_us_per_message")
METRICS_ASKED = (*WHOLE, *OF_BACKLOG)  # needed of every cell of a claim, besides what its measure names


def driver_limit(claim: Claim, part: Part, cells: Mapping[str, Sequence[CellFacts]], figures: Figures) -> str:
    """Which cell of the part was held back by a driver of ours, and how that is known; empty where none was, and where the
    claim expects it: because senders were the limit of the study too, or because its figure does not depend on it."""
    if SATURATED in claim.expects:
        return ""
    for cell in part.cells:
        for facts in cells.get(cell, ()):
            path = facts.facts.get("driver_path", "")
            said = facts.saturation() or ("" if path.startswith(NATIVE) else _takes_as_much(part, cell, figures))
            if facts.finished and said:
                driver = f"its driver ({path})" if path else "its driver"
                return f"{cell}: {driver} is brokerlab's own and may be the limit: {said}"
    return ""


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
