"""A row of the table `fault` in one sentence: the same words in the verdict, on the terminal and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VERBS = {"kill": "killed"}


def fault_sentence(row: Mapping[str, Any]) -> str:
    """Which node, when, what took over, for how long nothing went through."""
    led = "which led, " if row["was_leading"] else "a follower, "
    event = f"{row['node']}, {led}was {VERBS[row['fault']]} {row['at_s']:.1f} s into measure"
    return f"{event}; {take_over_text(row)}; nothing was {_silences(row)}"


def take_over_text(row: Mapping[str, Any]) -> str:
    if row["took_over"]:
        return f"{row['took_over']} took over after {row['took_over_after_s']:.2f} s"
    return "nothing took over" if row["was_leading"] else "nothing had to take over"


def outage_text(row: Mapping[str, Any], side: str) -> str:
    """An outage with its unit; "more than" where nothing ended it; "-" without clients on that side."""
    outage_s = row[f"{side}_outage_s"]
    if outage_s is None:
        return "-"
    return f"{'' if row[f'{side}_recovered'] else 'more than '}{outage_s:.2f} s"


def _silences(row: Mapping[str, Any]) -> str:
    published = f"acknowledged for {outage_text(row, 'publish')}"
    if row["delivery_outage_s"] is None:
        return published
    return f"{published}, nothing delivered for {outage_text(row, 'delivery')}"
