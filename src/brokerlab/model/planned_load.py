"""What a cell's producers are planned to send."""

from __future__ import annotations

from brokerlab.model.plan import CellPlan


def mean_rate_per_s(cell: CellPlan) -> float | None:
    """Messages a second of all producers together, averaged over the schedule; None for a closed loop."""
    s = cell.producers.schedule
    if s.arrival == "closed" or s.rate_per_s is None:
        return None
    rate = s.rate_per_s
    if s.arrival == "burst" and s.burst_rate_per_s and s.burst_s and s.burst_every_s:
        share = s.burst_s / s.burst_every_s
        rate = s.burst_rate_per_s * share + rate * (1 - share)
    elif s.arrival == "ramp" and s.ramp_to_rate_per_s is not None:
        rate = (rate + s.ramp_to_rate_per_s) / 2
    return rate * cell.producers.count


def mean_message_bytes(cell: CellPlan) -> float | None:
    """None when the messages come from a file."""
    sizes = cell.producers.payload.sizes
    weight = sum(s.weight for s in sizes)
    return sum(s.message_bytes * s.weight for s in sizes) / weight if weight else None
