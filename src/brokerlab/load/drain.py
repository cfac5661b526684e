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


def drained(
    acknowledged: Mapping[tuple[int, int], int], partitions: int, group: Sequence[Progress], messages: int | None = None
) -> Drained:
    """Whether one group has read everything: nothing more comes, and either every lane's last acknowledged message was
    seen, or the broker itself says that nothing is left.

    `acknowledged` maps (producer, partition) to the lane's highest acknowledged sequence; `messages` is how many were
    acknowledged in all. Where as many were not received, some may be missing before the last, and a broker that still
    holds messages for the group may bring them again: after a node's death that takes as long as it waits for an
    acknowledgement.
    """
    if not group:
        return Drained(False, "no consumer has reported")
    quiet_ns = min(p.quiet_ns for p in group)
    if quiet_ns < QUIET_NS:
        return Drained(False, "messages are still arriving")
    behind = [
        lane
        for lane, last in acknowledged.items()
        if max(p.highest[lane[0] * partitions + lane[1]] for p in group) < last
    ]
    remaining = [r for p in group for r in p.remaining]
    if not behind:
        held = max((r for r in remaining if r is not None), default=0)
        received = sum(p.received for p in group)
        if held and messages is not None and received != messages:
            return Drained(False, f"{received} of {messages} messages received; the broker may deliver {held} again")
        return Drained(True, "every lane's last acknowledged message was seen")
    if all(r == 0 for r in remaining):
        return Drained(True, f"the broker holds nothing more; {len(behind)} lanes end before their last message")
    left = sum(r for r in remaining if r is not None)
    return Drained(
        False, f"{len(behind)} lanes have not reached their last acknowledged message; {left} messages are waiting"
    )
