"""What the agents' live lines say together, in a few words for the progress line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def live_text(lines: Mapping[str, Mapping[str, Any]]) -> str:
    """Rates, and the worst p99 of the latest second: of the whole way where there are consumers, else of publishing;
    left out before there is one. `lines` are the latest ones by agent (agent/seconds.py)."""
    consumers = [line for name, line in lines.items() if name.startswith("consumer")]
    producers = [line for name, line in lines.items() if name.startswith("producer")]
    parts = [f"{sum(line.get('sent', 0) for line in producers):,}/s sent"]
    if consumers:
        parts.append(f"{sum(line.get('received', 0) for line in consumers):,}/s received")
    of, measure = (consumers, "end_to_end_latency") if consumers else (producers, "publish_latency")
    p99_ns = max((line["p99_ns"].get(measure, 0) for line in of), default=0)
    if p99_ns:
        parts.append(f"p99 {p99_ns / 1e6:.1f} ms")
    return ", ".join(parts)
