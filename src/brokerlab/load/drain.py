"""When is everything read that will ever be? The question on which "lost" depends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

QUIET_NS = 1_000_000_000  # nothing may have arrived for so long


@dataclass(frozen=True)
class Progress:
    """How far one consumer agent is. `highest` by lane: producer x partitions + partition."""

    highest: Sequence[int]
    remaining: Sequence[int | None]
    quiet_ns: int
    received: int


@dataclass(frozen=True)
class Drained:
    complete: bool
    because: str


def drained(acknowledged: Mapping[tuple[int, int], int], partitions: int, group: Sequence[Progress]) -> Drained:
    """Whether one group has read everything: nothing more comes, and either every lane's last acknowledged message was
    seen, or the broker itself says that nothing is left.

    `acknowledged` maps (producer, partition) to the lane's highest acknowledged sequence.
    """
    if not group:
        return Drained(False, "no consumer has reported")
    quiet_ns = min(p.quiet_ns for p in group)
    if quiet_ns < QUIET_NS:
        return Drained(False, "messages still arrive")
    behind = [
        lane
        for lane, last in acknowledged.items()
        if max(p.highest[lane[0] * partitions + lane[1]] for p in group) < last
    ]
    if not behind:
        return Drained(True, "every lane's last acknowledged message was seen")
    remaining = [r for p in group for r in p.remaining]
    if all(r == 0 for r in remaining):
        return Drained(True, f"the broker holds nothing more; {len(behind)} lanes end before their last message")
    left = sum(r for r in remaining if r is not None)
    return Drained(False, f"{len(behind)} lanes have not reached their last acknowledged message; {left} messages wait")
