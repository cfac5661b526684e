"""A row of the table `fault` in one sentence: the same words in the verdict, on the terminal and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VERBS = {"kill": "killed"}
ENDINGS = {"kill": "started again"}


def fault_sentence(row: Mapping[str, Any]) -> str:
    """Which node, when, whether it was started again, what took over, for how long nothing went through."""
    role = "" if is_alone(row) else ", which led," if row["was_leading"] else ", a follower,"
    event = f"{row['node']}{role} was {VERBS[row['fault']]} {row['at_s']:.1f} s into measure"
    if (ending := ending_text(row)) is not None:
        event += f" and {ending}"
    took_over = "" if is_alone(row) else f"; {take_over_text(row)}"
    return f"{event}{took_over}; nothing was {_silences(row)}"


def is_alone(row: Mapping[str, Any]) -> bool:
    """The only node of its cluster: who led and what took over are no questions."""
    return bool(row["nodes"] == 1)


def ending_text(row: Mapping[str, Any]) -> str | None:
    """How a fault ended that did; None for one that lasted."""
    if row["end_s"] is None:
        return None
    return f"{ENDINGS[row['fault']]} {row['end_s'] - row['at_s']:.1f} s later"


def take_over_text(row: Mapping[str, Any]) -> str:
    """Of a cluster of several nodes."""
    if row["took_over"]:
        return f"{row['took_over']} took over after {row['took_over_after_s']:.2f} s"
    if not row["was_leading"]:
        return "nothing had to take over"
    return "nothing took over" if row["end_s"] is None else "no other node took over"


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
