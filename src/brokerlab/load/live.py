"""What the agents' live lines say together, in a few words for the progress line, and line by line for those who watch."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brokerlab.model.plan import AgentPlan


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


class LiveLines:
    """A file that gets each live line with its agent, role and group as one line of JSON. It is a convenience: what cannot be
    written is left out, and nothing waits for whoever reads."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, agent: AgentPlan, line: Mapping[str, Any]) -> None:
        said = {"agent": agent.agent, "role": agent.role.value, "group": agent.group or "", **line}
        with contextlib.suppress(OSError), self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(said, separators=(",", ":")) + "\n")
