"""Brokers that `up` started: where they are kept, and what is said about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brokerlab.cli.text import duration_text
from brokerlab.home import cache_directory


def standing_directory() -> Path:
    return cache_directory() / "up"


def status_lines(status: dict[str, Any]) -> list[str]:
    """A supervisor's answer, for people."""
    nodes = ", ".join(f"{n['name']} (pid {n['pid']}{', DEAD' if n['dead'] else ''})" for n in status["nodes"])
    return [
        f"{status['broker']}: {status['state']} for {duration_text(status['uptime_s'])}, durability {status['durability']}",
        f"endpoint: {','.join(status['endpoint'])}",
        f"nodes:    {nodes}",
        f"files:    {status['directory']}",
    ]
