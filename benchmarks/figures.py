"""One measured round, and how rounds become a table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Round:
    """One side of one round, steady part only. CPU in µs per message."""

    who: str
    messages: int
    rate_per_s: float
    client_us: float
    broker_us: float
    foreign_cores: float


def spread(values: Sequence[float], digits: int) -> str:
    """median [smallest - largest]"""
    return f"{statistics.median(values):,.{digits}f} [{min(values):,.{digits}f} - {max(values):,.{digits}f}]"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Ratio of medians, and the range of the ratios round by round."""
    by_round = [a / b for a, b in zip(ours, theirs, strict=True)]
    return f"{statistics.median(ours) / statistics.median(theirs):.2f} [{min(by_round):.2f} - {max(by_round):.2f}]"


def table(title: str, ours: list[Round], theirs: list[Round]) -> str:
    """A Markdown table of both sides and their ratio."""
    lines = [
        f"### {title}",
        "",
        "| | messages/s, thousands | client CPU, µs/message | broker CPU, µs/message | foreign load, cores |",
        "|---|---|---|---|---|",
    ]
    for side in (ours, theirs):
        lines.append(
            f"| {side[0].who} ({len(side)} rounds of {statistics.median([r.messages for r in side]) / 1e6:.1f} M) | "
            f"{spread([r.rate_per_s / 1e3 for r in side], 0)} | {spread([r.client_us for r in side], 2)} | "
            f"{spread([r.broker_us for r in side], 2)} | {spread([r.foreign_cores for r in side], 2)} |"
        )
    lines.append(
        f"| **ratio, ours / theirs** | **{ratio([r.rate_per_s for r in ours], [r.rate_per_s for r in theirs])}** | "
        f"**{ratio([r.client_us for r in ours], [r.client_us for r in theirs])}** | "
        f"{ratio([r.broker_us for r in ours], [r.broker_us for r in theirs])} | |"
    )
    ceiling = 2e6 / statistics.median([r.client_us + r.broker_us for r in ours])
    reached = statistics.median([r.rate_per_s for r in ours]) / ceiling
    lines += [
        "",
        f"Two cores / (our client + broker CPU) = {ceiling / 1e3:,.0f} k/s; we reach {reached:.0%} of it.",
        "",
    ]
    return "\n".join(lines)
